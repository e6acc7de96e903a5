"""Comparison of simulated users with people on the same questions, relative to the differences between people."""
