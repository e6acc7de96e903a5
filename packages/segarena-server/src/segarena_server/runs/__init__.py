"""Runs of participants: in the database, as submissions, and as pages show them."""
