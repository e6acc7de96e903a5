"""Measures of prompts, by which people are compared with simulated users."""
