"""One file per dataset: where it comes from, what the paper states, how cases are found and labels made."""
