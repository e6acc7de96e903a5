"""J and F, the report table of a session, and the challenge's summary of quality against time."""
