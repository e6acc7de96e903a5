"""What a prediction is worth: overlap, boundary, curves over rounds, intervals. One plug-in, one file."""
