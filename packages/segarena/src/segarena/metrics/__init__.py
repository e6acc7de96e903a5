"""Metrics of single predictions: overlap, boundary, surface distances, average precision."""
