"""What is done apart from requests: turns are evaluated, runs ended, and whatever else has a kind.

A row waits in the database until a hand, a thread with a worker process, leases it; what came of it and its new state
are one transaction. Hands are in `hands`, the rules of leases in `leases` and `holding`, kinds in `kinds`.
"""
