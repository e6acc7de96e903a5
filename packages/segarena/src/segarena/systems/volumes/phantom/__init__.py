"""Synthetic anatomy of the phantom."""
