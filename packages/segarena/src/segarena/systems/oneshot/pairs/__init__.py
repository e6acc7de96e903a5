"""One-shot sets: lists of pairs (a query image and the examples shown with it), and where their pixels are."""
