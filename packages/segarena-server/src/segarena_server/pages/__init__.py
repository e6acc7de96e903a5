"""Web pages, which work without scripts."""
