"""The click benchmark, and RClicks, which extends it to many users."""
