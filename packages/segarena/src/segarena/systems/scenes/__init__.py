"""Semantic Amodal Segmentation: scenes with depth order, and how well people agree."""
