"""Terminal output that commands share: one-line errors, tables, progress bars."""
