"""A person in the dialogue of a benchmark: which runs ask people, who sits where, and what their page is told."""
