"""Report tables, figures and pictures for runs on volumes."""
