"""The SAM family and its base classes, with weights that you bring."""
