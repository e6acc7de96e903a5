"""Mask geometry on arrays: windows, distance transforms, boundaries and run lengths. Independent of benchmarks."""
