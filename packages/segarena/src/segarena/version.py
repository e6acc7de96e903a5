"""The version of the package, in one place, and whose versions matter beside it."""

__version__ = "0.1.0"

COMPUTING = (
    "numpy",
    "scipy",
    "opencv-python-headless",
    "scikit-image",
    "polars",
    "torch",
    "transformers",
)
"""Packages on which the numbers of a run depend; the last two come with an extra."""
