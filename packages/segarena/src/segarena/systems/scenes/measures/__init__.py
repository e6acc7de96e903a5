"""Statistics of scenes, agreement between annotators, and quality of amodal segments."""
