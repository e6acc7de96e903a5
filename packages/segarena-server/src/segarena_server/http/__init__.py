"""Requests and responses: middleware, limits on request bodies, errors."""
