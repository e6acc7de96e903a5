"""Building of tiers from images and masks: measure, partition, pair and write items."""
