"""`segarena toss`."""
