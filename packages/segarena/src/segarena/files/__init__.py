"""File formats and file operations that all packages share: one reader for each format."""
