"""Template of an adapter, and the function that writes it."""
