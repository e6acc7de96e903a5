"""`segarena clicks`."""
