"""Share work in one folder among processes on any hosts: each claims units, and those of dead processes are freed.

`presence` shows which processes live, `claim_log` keeps their entries in one order, `claim_state` derives the claims
from the entries, `locks` excludes processes that work alone, and `claims` is the part of one process.
"""
