"""Runs of participants and submissions, and the views that pages show of them."""
