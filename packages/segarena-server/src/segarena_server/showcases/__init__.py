"""Challenges that `segarena serve --demo` shows, one module per system."""
