"""segarena: judge promptable segmentation the way people use it."""

__version__ = "0.1.0"
