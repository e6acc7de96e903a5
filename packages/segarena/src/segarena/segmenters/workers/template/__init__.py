"""The adapter to start from."""
