"""Long work: a job says what is done to each unit, an executor does it, a ledger notes what is done.

`jobs` has the words; `executors` chooses between `here` and `processes`; `resuming` puts ledger, executor and progress
together, which is all that most callers need. `crew` has the processes of one machine, `parent` and `child` the ends of
each.
"""
