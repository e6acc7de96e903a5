"""A segmenter that works in another process: the host's end of the conversation with a worker."""
