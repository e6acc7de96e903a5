"""Segmenters based on saliency: a control, and SSSI as a wrapper of any one-shot segmenter."""
