"""Users: plug-ins that give prompts, simulated or human, one plug-in per file."""
