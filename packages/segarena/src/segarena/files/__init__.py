"""File formats and file operations shared by all packages, with one reader per format."""
