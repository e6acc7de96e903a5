"""Contents of a run folder as typed values: validated on reading, and written by the same definitions."""
