"""The DAVIS Interactive Challenge."""
