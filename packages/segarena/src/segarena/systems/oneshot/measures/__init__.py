"""Metrics of TOSS besides IoU."""
