"""Clicks drawn from click maps; one map for several users."""
