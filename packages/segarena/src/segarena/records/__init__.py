"""The contents of a run folder as typed values: validated once on reading, and written by the same definitions."""
