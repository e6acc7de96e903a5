"""Prompts of a simulated radiologist, as pure functions of target, prediction and random generator."""
