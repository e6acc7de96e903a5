"""What a participant's own script imports to take part in a challenge; small, no torch."""
