"""Clicks tables of human clicks, checks and filters for them, and a synthetic crowd."""
