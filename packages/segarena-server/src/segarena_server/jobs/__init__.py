"""The queue of background work: waiting rows, and the leases of the processes that work on them.

A row waits in the database until a thread leases it. One transaction writes both its result and its
new state.
"""
