"""Seeds and windows of volume segmenters without weights."""
