"""What programs ask: `/api/v1`."""
