"""Pairs of a query image and its supports: tables, list formats, image sources, datasets."""
