"""Report sections specific to TOSS."""
