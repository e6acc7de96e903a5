"""What stands behind segmenters that are networks. Its modules import torch, so plug-in files import them late."""
