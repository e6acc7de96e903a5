"""Users that show one support or several."""
