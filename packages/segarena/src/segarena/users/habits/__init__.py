"""Statistical models of how people prompt: differences between people, errors of boxes and clicks, and times."""
