"""Videos on disk, frame by frame."""
