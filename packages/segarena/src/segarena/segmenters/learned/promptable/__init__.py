"""Promptable networks in torch; plug-in files import these modules only when they load a network."""
