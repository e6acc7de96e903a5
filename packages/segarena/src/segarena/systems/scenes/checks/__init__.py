"""Defects of annotations, and repairs that need no guess."""
