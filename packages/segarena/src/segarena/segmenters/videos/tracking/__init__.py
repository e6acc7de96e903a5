"""Shared parts of video segmenters without weights: strokes, optical flow, colour models, smoothing."""
