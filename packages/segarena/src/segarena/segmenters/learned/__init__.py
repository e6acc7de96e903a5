"""The SAM family of networks and their base classes; you provide the weights."""
