"""Accounts, teams, passwords, second factors, sign-in with a provider, access keys and permissions."""
