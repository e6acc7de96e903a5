"""The challenge server: accounts, database, evaluation in worker processes, HTTP API and pages."""
