"""RadioActive: 2D and 3D models for radiology volumes, compared by the user effort of their prompts."""
