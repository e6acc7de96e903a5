"""Challenges on the network: accounts, the database, evaluation in worker processes, the pages."""
