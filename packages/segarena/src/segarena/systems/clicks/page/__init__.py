"""What the report of RClicks has of its own."""
