"""Statistical models of how people prompt: errors of boxes and clicks, times, and differences between people."""
