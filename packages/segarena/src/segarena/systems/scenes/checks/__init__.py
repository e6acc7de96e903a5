"""Checks that find defects of annotations, and unambiguous repairs."""
