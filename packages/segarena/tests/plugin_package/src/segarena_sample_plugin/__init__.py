"""A package as anybody could write one: plug-ins, a page for the report of its benchmark, a command."""
