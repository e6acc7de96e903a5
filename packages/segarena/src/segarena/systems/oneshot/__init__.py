"""TOSS: one-shot segmentation in tiers of difficulty."""
