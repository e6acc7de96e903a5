"""Promptable networks in torch; plug-in files import these modules only to load a network."""
