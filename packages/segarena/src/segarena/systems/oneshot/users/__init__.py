"""Users who show one example, or several."""
