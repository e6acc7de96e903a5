"""Averages of volumes, instance Dice, and the figures of the CVPR 2025 challenge."""
