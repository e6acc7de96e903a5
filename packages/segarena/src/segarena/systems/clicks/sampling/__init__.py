"""Sampling of clicks from click maps, which several users can share."""
