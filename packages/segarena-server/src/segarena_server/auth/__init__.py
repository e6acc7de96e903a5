"""Accounts, teams, passwords, tokens, permissions, and limits on attempts."""
