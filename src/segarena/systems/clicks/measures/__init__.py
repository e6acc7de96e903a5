"""Robustness over users, and click models held against clicks."""
