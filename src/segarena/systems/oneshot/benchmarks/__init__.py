"""TOSS."""
