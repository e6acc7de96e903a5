"""One-shot segmenters, prompted by example images with masks instead of clicks."""
