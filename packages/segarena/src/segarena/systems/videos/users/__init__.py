"""The scribble robot as a simulated user."""
