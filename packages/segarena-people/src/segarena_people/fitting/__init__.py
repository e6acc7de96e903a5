"""Fitting of habits to people's prompts; simulated users read the resulting files."""
