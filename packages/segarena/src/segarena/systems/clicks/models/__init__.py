"""Click models: the likelihood of a click on each pixel of an error."""
