"""Segmenters of volumes without weights, and an adapter that applies image segmenters to slices."""
