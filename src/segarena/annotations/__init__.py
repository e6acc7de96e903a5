"""Amodal scenes: the model, its files, statistics, agreement between people, checks and reductions."""
