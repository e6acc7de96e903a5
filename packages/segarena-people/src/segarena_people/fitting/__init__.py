"""Fitting of simulated users' parameters to people's prompts; the users load the resulting files."""
