"""Report sections for timed video runs, and pictures of their dialogues."""
