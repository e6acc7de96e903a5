"""Measures of prompts for comparing simulated users with people."""
