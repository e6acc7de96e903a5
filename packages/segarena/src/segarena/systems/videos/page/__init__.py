"""What reports of videos have of their own."""
