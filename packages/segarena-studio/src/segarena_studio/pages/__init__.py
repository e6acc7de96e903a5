"""Routes of the studio, all at `/studio` or below it."""
