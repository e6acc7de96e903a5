"""Challenges: their descriptions, the evaluation of turns, time, quotas, boards and audits."""
