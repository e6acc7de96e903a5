"""Personal data: export, and deletion of accounts."""
