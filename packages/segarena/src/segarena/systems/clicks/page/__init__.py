"""Report sections, tables and figures for RClicks runs."""
