"""The session that scripts of DAVIS participants use."""
