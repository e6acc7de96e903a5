"""J and F, the curve against time, the table that a session reports."""
