"""`segarena amodal`."""
