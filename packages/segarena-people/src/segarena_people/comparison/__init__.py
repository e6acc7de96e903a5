"""Comparison of simulated users with people on the same questions, relative to how much people differ."""
