"""The SAM family, with weights that you bring."""
