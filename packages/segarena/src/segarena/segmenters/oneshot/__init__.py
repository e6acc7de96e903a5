"""One-shot segmenters: an example image with a mask replaces clicks."""
