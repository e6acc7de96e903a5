"""Pages for agreement, statistics and review of annotations."""
