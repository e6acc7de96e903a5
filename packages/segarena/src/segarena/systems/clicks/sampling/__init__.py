"""Sampling of clicks from click maps that several users share."""
