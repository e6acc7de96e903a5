"""Simulated users: who gives the prompts. One plug-in, one file."""
