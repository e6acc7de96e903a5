"""Clicks tables: human clicks, their checks and filters, and a synthetic crowd."""
