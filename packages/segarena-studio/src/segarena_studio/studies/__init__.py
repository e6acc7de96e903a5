"""Studies: people are shown targets and give prompts. No HTTP in here."""
