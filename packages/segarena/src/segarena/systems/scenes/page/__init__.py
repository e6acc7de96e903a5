"""Pages of agreement and of review."""
