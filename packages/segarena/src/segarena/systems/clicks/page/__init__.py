"""Additions of rclicks to the report."""
