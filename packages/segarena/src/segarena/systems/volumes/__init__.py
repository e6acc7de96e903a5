"""RadioActive: 2D and 3D models on radiology volumes, compared by the effort of their prompts."""
