"""Segmenters of volumes that need no weights, and the lift around segmenters of images."""
