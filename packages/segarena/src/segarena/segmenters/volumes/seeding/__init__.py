"""What the volume segmenters without weights share: a window of the scan in blocks, and seeds in it."""
