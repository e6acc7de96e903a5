"""Simulated users held against people: asked the same, measured the same, beside people against people."""
