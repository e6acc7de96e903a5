"""Habits fitted to what people gave: files that simulated users read."""
