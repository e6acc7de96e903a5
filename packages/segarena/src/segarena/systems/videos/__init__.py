"""DAVIS Interactive: timed video segmentation with scribbles."""
