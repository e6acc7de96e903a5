"""Users who prompt volumes."""
