"""Limits on request rates, sign-ins, and the memory of uploads."""
