"""Computation of LCA, HCA, SCS and GS from pixel counts."""
