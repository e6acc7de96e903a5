"""Turns of participants: stored once, evaluated by workers, answered once."""
