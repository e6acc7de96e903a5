"""Annotation of whole scenes: projects, pictures, tasks, drafts, review, times, agreement, export. No HTTP in here."""
