"""What is wrong with an annotation, and what can be mended without guessing."""
