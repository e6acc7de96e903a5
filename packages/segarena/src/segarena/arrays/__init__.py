"""Mask geometry on arrays: windows, distance, boundary, run lengths. Independent of benchmarks."""
