"""Weights from folders, names on the hub and the authors' own files."""
