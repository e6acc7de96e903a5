"""What a run folder holds, as typed values: read and checked once, written by the same definitions."""
