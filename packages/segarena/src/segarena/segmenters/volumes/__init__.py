"""Segmenters of volumes without weights, and the slice-wise use of image segmenters."""
