"""What commands share: one-line errors, tables, progress. Systems use it for commands of their own."""
