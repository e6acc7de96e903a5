"""Built-in segmenters, one plug-in per file."""
