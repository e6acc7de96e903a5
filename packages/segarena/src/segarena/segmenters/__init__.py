"""Segmenters that come with the package. One plug-in, one file."""
