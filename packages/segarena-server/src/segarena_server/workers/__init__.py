"""Workers: threads lease turns and other jobs, execute them in worker processes and write the results.

pool.py                the threads of a serving process, each with a worker process
leased_row_runner.py   one thread's work on one row: lease, execute, write the result
worker.py              code inside a worker process
turn_evaluation.py     the runner of turns
job_runner.py          the runner of jobs, and the interface of a kind of job
kinds/                 one module per kind of job
"""
