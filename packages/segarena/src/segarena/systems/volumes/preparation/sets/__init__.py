"""One module per dataset: its source, the paper's statements, and rules for finding cases and making labels."""
