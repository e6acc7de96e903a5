"""Prompts drawn into images, and what segmenters without weights share."""
