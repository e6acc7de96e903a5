"""LCA, HCA, SCS and GS, computed from pixel counts."""
