"""Slice-wise use of image segmenters on volumes."""
