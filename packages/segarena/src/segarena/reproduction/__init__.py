"""Measures a published table again: what it takes, running what can be run, and the numbers beside each other."""
