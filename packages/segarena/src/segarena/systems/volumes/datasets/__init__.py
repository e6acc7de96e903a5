"""A folder of volumes, and a phantom that needs no file."""
