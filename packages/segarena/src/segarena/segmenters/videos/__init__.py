"""Segmenters of videos without weights."""
