"""What video segmenters without weights share: strokes, frames with optical flow, colour models, smoothing."""
