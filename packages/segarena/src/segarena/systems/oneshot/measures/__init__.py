"""What TOSS measures of a pair beside IoU."""
