"""Challenges: descriptions, evaluation of turns, time accounting, quotas, boards and audits."""
