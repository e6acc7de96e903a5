"""Segmenters of videos that need no weights."""
