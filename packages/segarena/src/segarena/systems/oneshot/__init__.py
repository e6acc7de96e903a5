"""TOSS: one-shot segmentation in three tiers of difficulty."""
