"""The HTTP API for client programs: `/api/v1`."""
