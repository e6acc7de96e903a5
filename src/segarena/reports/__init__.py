"""Tables, figures and pages, all read from records."""
