"""Annotation: projects, pictures, tasks, drafts, review, times, agreement and export; independent of HTTP."""
