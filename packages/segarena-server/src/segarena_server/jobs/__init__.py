"""Background work of a server: evaluating turns, ending runs, and every other kind of job.

    job_queue.py      the names of all kinds, and how a job is enqueued
    lease.py          leases on rows, and how a lease that was lost is detected
    pool.py           the threads of a serving process, each with a worker process
    runner.py         one thread's work on one row: lease, execute, write the result
    worker.py         what runs inside a worker process
    job_kind.py       the interface of a kind of job
    job_runner.py     the runner of jobs, and the registry of kinds
    turn_evaluation.py and the others: one module per kind of work

A row waits in the database until a thread leases it. Its result and its new state are written in one transaction.
"""
