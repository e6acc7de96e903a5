"""Semantic Amodal Segmentation: scenes with a depth order, and the agreement of their annotators."""
