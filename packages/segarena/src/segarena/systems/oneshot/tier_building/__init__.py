"""Tiers built from images and masks: items are measured, partitioned, paired and written."""
