"""A challenge: what is asked, what is hidden, what it costs to ask; without HTTP, databases and pages."""
