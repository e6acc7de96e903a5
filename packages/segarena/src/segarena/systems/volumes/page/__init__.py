"""What reports of volumes have of their own."""
