"""What stands behind the lift that makes a volume segmenter of an image segmenter."""
