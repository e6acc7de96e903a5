"""Long-running work: a job describes it, an executor processes its units, a ledger records finished units.

`jobs` defines the interfaces, and `executors` the executors of this machine. `resumable_work`
combines ledger, executor and progress, which is all that most callers need. `process_pool` manages
worker processes; `worker_handle` and `worker_process` are the two ends of each one.
"""
