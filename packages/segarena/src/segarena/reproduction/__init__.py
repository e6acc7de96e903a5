"""Reproduction of published tables: requirements, runs, and comparison of figures."""
