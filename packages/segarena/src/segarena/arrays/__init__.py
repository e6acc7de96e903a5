"""Mask geometry on arrays: windows, distance, boundary, run lengths. Knows nothing of benchmarks."""
