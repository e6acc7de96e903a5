"""Submissions of participants that are judged here: masks, run folders and programs. None of them is trusted."""
