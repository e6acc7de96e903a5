"""Generated scenes, their truth, and five annotators."""
