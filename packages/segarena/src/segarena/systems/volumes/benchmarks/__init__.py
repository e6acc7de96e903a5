"""The benchmarks RadioActive and CVPR 2025."""
