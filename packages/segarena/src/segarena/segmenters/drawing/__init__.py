"""Marks drawn from prompts, and shared parts of segmenters without weights."""
