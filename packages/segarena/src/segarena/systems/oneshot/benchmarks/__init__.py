"""The TOSS benchmark of one-shot segmentation."""
