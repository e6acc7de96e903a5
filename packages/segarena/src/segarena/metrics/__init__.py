"""Metrics of single predictions: overlap, boundary, surface distances and average precision."""
