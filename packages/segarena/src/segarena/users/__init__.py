"""Users: plug-ins that give the prompts, simulated or human. One plug-in, one file."""
