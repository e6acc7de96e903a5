"""Users that show one or more supports."""
