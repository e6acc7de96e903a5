"""Long-running work: a job describes it, an executor does its units, a ledger records the finished ones.

`jobs` defines the interfaces, and `executors` has the executors of this machine. `resumable_work` combines ledger,
executor and progress, which is all that most callers need. `process_pool` manages worker processes;
`worker_handle` and `worker_process` are the two ends of each.
"""
