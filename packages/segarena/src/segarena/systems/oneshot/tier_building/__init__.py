"""Tiers built from images and masks: measured, split, paired, written down. What is done is kept."""
