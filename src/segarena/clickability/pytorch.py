"""torch, for the modules of this folder; see `segarena.pytorch`."""

from segarena.pytorch import Tensor, functional, nn, torch

__all__ = ["Tensor", "functional", "nn", "torch"]
