"""Version of the package, and names of the packages that affect numeric results."""

__version__ = "0.1.0"

NUMERIC_PACKAGES = (
    "numpy",
    "scipy",
    "opencv-python-headless",
    "scikit-image",
    "polars",
    "torch",
    "transformers",
)
"""Packages on which the results of a run depend; the last two are optional."""
