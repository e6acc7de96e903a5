"""Turns of participants: received once, evaluated by workers, answered once."""
