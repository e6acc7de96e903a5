"""J and F, the table that a session reports, and the challenge's summary against time."""
