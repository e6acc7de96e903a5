"""Support examples, and votes among several."""
