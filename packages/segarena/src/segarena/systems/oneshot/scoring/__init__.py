"""Scores of tiers: LCA, HCA, SCS, GS, from counts of pixels."""
