"""Work in one folder shared by processes on any hosts: each claims units, and claims of dead processes are released.

`presence` shows which processes are alive, `claim_log` stores their entries in one order,
`claim_state` derives the claims from the entries, `locks` excludes processes that do not share the
work, and `claims` is the interface of one process.
"""
