"""RadioActive: 2D and 3D models on radiology volumes, by what the prompts cost."""
