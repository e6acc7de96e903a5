"""Long work: what is done is noted, what is left goes to an executor, and one progress type says how far it is."""
