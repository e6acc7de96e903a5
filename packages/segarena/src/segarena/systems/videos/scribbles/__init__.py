"""Scribble files, and scribbles as masks and positions."""
