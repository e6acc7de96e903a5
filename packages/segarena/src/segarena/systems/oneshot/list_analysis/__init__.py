"""The published lists: audited, and their partition recovered."""
