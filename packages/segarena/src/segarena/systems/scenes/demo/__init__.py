"""Generated scenes with ground truth, and five simulated annotators."""
