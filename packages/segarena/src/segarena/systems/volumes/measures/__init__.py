"""Averages over volumes, instance Dice, and the scores of the CVPR 2025 challenge."""
