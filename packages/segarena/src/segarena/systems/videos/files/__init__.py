"""Videos stored as image files, one file per frame."""
