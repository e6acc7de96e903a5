"""Adapter template and the function that writes it."""
