"""Segmenters based on saliency: a control, and SSSI around any one-shot segmenter."""
