"""DAVIS Interactive: video segmentation by scribbles, timed."""
