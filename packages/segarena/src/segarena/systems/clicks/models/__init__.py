"""Click models: how likely each pixel of an error is to be clicked."""
