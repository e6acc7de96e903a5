"""Contents of a run folder as typed values; the same definitions serve for writing and for validation on reading."""
