"""Evaluation of edge maps and segmentations against human annotations."""
