"""`segarena data prepare`."""
