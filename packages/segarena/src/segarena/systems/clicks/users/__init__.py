"""Users that sample clicks from click maps, form clicking groups, or replay recorded clicks."""
