"""Tables of people's prompts, and simulated users that are fitted to these prompts and compared with people."""
