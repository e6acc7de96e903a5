"""Datasets of images with ground truth, one module per dataset."""
