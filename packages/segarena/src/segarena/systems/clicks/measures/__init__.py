"""Robustness across users, and comparison of click models with real clicks."""
