"""Analyses of lists of pairs: audit, and recovery of the published partitions."""
