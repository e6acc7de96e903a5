"""Entry points through which packages add pages and interfaces to a server."""
