"""The scribbling robot as a user."""
