"""Edge maps and segmentations against human annotations: matching, precision and recall, region measures."""
