"""Segmenters of images without weights."""
