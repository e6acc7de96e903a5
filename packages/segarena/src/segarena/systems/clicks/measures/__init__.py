"""Robustness over users, and click models compared with clicks."""
