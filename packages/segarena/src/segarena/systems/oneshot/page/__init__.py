"""What reports of TOSS have of their own."""
