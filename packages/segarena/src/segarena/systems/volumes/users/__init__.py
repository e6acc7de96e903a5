"""Simulated users that prompt volumes."""
