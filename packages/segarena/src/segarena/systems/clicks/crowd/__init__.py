"""Clicks tables: what people clicked, checks and filters, and a synthetic crowd."""
