"""Comparison of simulated users with people on the same questions, relative to people compared with each other."""
