"""The click benchmark, and RClicks: the same by many users."""
