"""Edge maps and segmentations against those that people drew: matching, precision and recall, region measures."""
