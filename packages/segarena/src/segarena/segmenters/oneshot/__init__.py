"""Segmenters that take one example instead of clicks."""
