"""RadioActive and the CVPR 2025 challenge."""
