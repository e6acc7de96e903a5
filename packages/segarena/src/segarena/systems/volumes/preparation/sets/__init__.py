"""One module per dataset: its source, the paper's statements, and how cases are found and labels made."""
