"""Boards: many runs of one benchmark, ranked."""
