"""Participants' runs: in the database, as submissions, and as pages show them."""
