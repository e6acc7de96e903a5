"""The worker pool of a serving process: threads with a worker process each, and a thread that recovers lost rows.

Turns have threads of their own, since a participant waits for each. So have short jobs and long jobs, so that none of
the three delays another.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from segarena.errors import SegarenaError, WorkError
from segarena.work.persistent_process import PersistentProcess
from segarena_server.db.orm_models import Job, Turn
from segarena_server.http.middleware import LOG
from segarena_server.jobs import lease as leases
from segarena_server.jobs.job_runner import JobRunner, job_kinds
from segarena_server.jobs.lease import LeaseWatch
from segarena_server.jobs.runner import LeasedRow, RowRunner, WorkerProcess
from segarena_server.jobs.turn_evaluation import TurnRunner
from segarena_server.jobs.worker import TaskExecutor
from segarena_server.runs import run_repository
from segarena_server.site import Site

_POLL_S = 0.5
_POLL_SHARED_S = 0.1
"""With a shared database another process may receive a turn, and this one is not notified of it."""
_RECOVERY_PERIOD_S = 2.0
_RETRY_S = 1.0
"""Pause after an error of the database or the disk."""
_JOIN_GRACE_S = 10.0
"""Time beyond the hard limit that a thread has to end."""

_RUNNERS: dict[leases.LeasedTable, type[RowRunner[Any]]] = {Turn: TurnRunner, Job: JobRunner}

_RunnerFactory: TypeAlias = Callable[[WorkerProcess], RowRunner[Any]]


class WorkerPool:
    """All background threads of this process.

    Args:
        site: whose rows they process.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._is_stopping = threading.Event()
        self._has_work = threading.Event()
        targets: list[Callable[[], object]] = []
        if site.settings.workers:
            factories = _runner_factories(site, self._is_stopping.is_set)
            targets += [partial(self._run_rows, factory) for factory in factories]
        targets.append(self._recover_forever)
        self._threads = [threading.Thread(target=target, daemon=True) for target in targets]

    def start(self) -> None:
        """Start all threads."""
        for thread in self._threads:
            thread.start()

    def hurry(self) -> None:
        """Wake the idle threads, since there is work."""
        self._has_work.set()

    def stop(self) -> None:
        """Stop once the current rows are processed; long jobs are left to the next start."""
        self._is_stopping.set()
        self._has_work.set()
        for thread in self._threads:
            thread.join(self._site.settings.limits.hard_s + _JOIN_GRACE_S)

    def _run_rows(self, make_runner: _RunnerFactory) -> None:
        limits = self._site.settings.limits
        executor = TaskExecutor(limits.soft_s, limits.hard_s)
        process: WorkerProcess = PersistentProcess(executor, limits.hard_s)
        runner = make_runner(process)
        poll_s = _POLL_S if self._site.database.is_sqlite else _POLL_SHARED_S
        try:
            while not self._is_stopping.is_set():
                if not self._try(runner.run_next):
                    self._has_work.wait(poll_s)
                    self._has_work.clear()
        finally:
            process.end()

    def _try(self, action: Callable[[], bool]) -> bool:
        """Call something that may fail for a while, and log the error; return False after one."""
        try:
            return action()
        except Exception as error:  # an exception would end the thread
            LOG.log(logging.ERROR, "%s", error, exc_info=not isinstance(error, SegarenaError))
            self._is_stopping.wait(_RETRY_S)
            return False

    def _recover_forever(self) -> None:
        """Release rows of dead processes, and end runs whose time is over."""
        lease_s = self._site.settings.limits.lease_s
        watches = {table: LeaseWatch[leases.RowKey](lease_s) for table in _RUNNERS}
        while True:
            for table, watch in watches.items():
                self._try(partial(self._recover, table, watch))
            self._try(self._end_overdue)
            if self._is_stopping.wait(_RECOVERY_PERIOD_S):
                return

    def _recover(self, table: leases.LeasedTable, watch: LeaseWatch[leases.RowKey]) -> bool:
        with self._site.database.reading() as session:
            active = leases.active_leases(session, table)
        for key, (lease, _) in active.items():
            if self._is_abandoned(lease):
                with self._site.database.writing() as session:
                    leases.release_row(session, table, key, lease)
                self.hurry()
        for key in watch.expired(active):
            lease = active[key][0]
            with self._site.database.writing() as session:
                row = session.get(table, key)
                if row is not None and not self._is_abandoned(lease):
                    error = WorkError("the process that had it was not heard of any more")
                    leased = LeasedRow(self._site, table, key, lease)
                    _RUNNERS[table].fail(self._site, row, leased, error, session)
            self.hurry()
        return True

    def _is_abandoned(self, lease: str) -> bool:
        """Return whether no thread works under a lease: its process ended, or is this one and lists it no more."""
        if leases.is_mine(lease):
            return lease not in self._site.held
        # Servers that share an SQLite file run on one machine.
        return leases.is_gone(lease, is_same_machine=self._site.database.is_sqlite)

    def _end_overdue(self) -> bool:
        now = self._site.now()
        with self._site.database.reading() as session:
            overdue = run_repository.overdue_runs(session, now)
        if overdue:
            with self._site.database.writing() as session:
                run_repository.end_overdue_runs(session, overdue, now)
            self.hurry()
        return True


def _runner_factories(site: Site, must_stop: Callable[[], bool]) -> list[_RunnerFactory]:
    """Return a factory for each thread: some for turns, one for short jobs, some for long jobs."""
    kinds = job_kinds().values()
    short = [kind for kind in kinds if not kind.is_long]
    long = [kind for kind in kinds if kind.is_long]
    factories: list[_RunnerFactory] = [partial(TurnRunner, site)] * site.settings.workers
    factories.append(partial(JobRunner, site, short))
    if long:
        long_runner = partial(JobRunner, site, long, must_stop=must_stop)
        factories += [long_runner] * site.settings.long_workers
    return factories
