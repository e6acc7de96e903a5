"""Commands of `segarena clicks`."""
