"""Prompts of a simulated radiologist: pure functions of target, prediction and random generator."""
