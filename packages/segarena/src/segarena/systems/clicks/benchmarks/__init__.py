"""The click benchmark, and RClicks, its extension to many users."""
