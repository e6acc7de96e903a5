"""Click models: the likelihood that a person clicks each pixel of an error."""
