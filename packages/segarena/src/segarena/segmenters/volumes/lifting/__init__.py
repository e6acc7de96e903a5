"""Slice-wise application of image segmenters to volumes."""
