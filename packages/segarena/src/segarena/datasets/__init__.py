"""Where samples with targets come from: one file per dataset family."""
