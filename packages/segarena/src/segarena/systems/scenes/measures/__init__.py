"""Statistics of scenes, agreement between annotators, amodal segment quality."""
