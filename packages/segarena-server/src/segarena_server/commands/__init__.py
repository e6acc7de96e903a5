"""`segarena serve` and `segarena challenge`."""
