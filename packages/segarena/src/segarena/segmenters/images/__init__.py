"""Segmenters of images that need no weights."""
