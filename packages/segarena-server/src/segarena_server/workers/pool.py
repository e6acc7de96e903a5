"""The worker pool of a serving process: threads with a worker process each, and a thread that recovers lost rows.

Turns, short jobs and long jobs each have their own threads, so that none of the three delays
another; a participant waits for each turn.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias

from sqlalchemy.orm import Session

from segarena.errors import SegarenaError, WorkError
from segarena.work.persistent_process import PersistentProcess
from segarena_server.db.orm_models import Job, Turn
from segarena_server.jobs import row_leases as leases
from segarena_server.jobs.row_leases import LeaseWatch
from segarena_server.runs import run_repository
from segarena_server.server_log import LOG
from segarena_server.site import Site
from segarena_server.workers.job_runner import JobKind, JobRunner, fail_job
from segarena_server.workers.leased_row_runner import LeasedRow, RowRunner, WorkerProcess
from segarena_server.workers.turn_evaluation import TurnRunner, fail_turn
from segarena_server.workers.worker import TaskExecutor, TurnExecutor

_POLL_S = 0.5
_POLL_SHARED_S = 0.1
"""With a shared database, another process may receive a turn without notifying this one."""
_RECOVERY_PERIOD_S = 2.0
_RETRY_S = 1.0
"""Pause after a database or disk error."""
_JOIN_GRACE_S = 10.0
"""Time beyond the hard limit in which a thread must end."""

_TABLES: tuple[leases.LeasedTable, ...] = (Turn, Job)

_RunnerFactory: TypeAlias = Callable[[WorkerProcess], RowRunner[Any]]


class WorkerPool:
    """The threads of this process that process rows, and the thread that recovers lost rows.

    Args:
        site: site whose rows the threads process.
        kinds: all kinds of jobs, by name.
    """

    def __init__(self, site: Site, kinds: Mapping[str, JobKind]) -> None:
        self._site = site
        self._kinds = kinds
        self._is_stopping = threading.Event()
        self._has_work = threading.Event()
        targets: list[Callable[[], object]] = []
        if site.settings.workers:
            limits = site.settings.limits
            turns = TurnExecutor(
                site.folder.run_folders, limits.soft_s, limits.hard_s, limits.samples_mb
            )
            run_turns = partial(self._run_rows, turns, partial(TurnRunner, site))
            targets += [run_turns] * site.settings.workers
            tasks = TaskExecutor(limits.soft_s, limits.hard_s, limits.samples_mb)
            factories = _job_runner_factories(site, kinds.values(), self._is_stopping.is_set)
            targets += [partial(self._run_rows, tasks, factory) for factory in factories]
        targets.append(self._recover_forever)
        self._threads = [threading.Thread(target=target, daemon=True) for target in targets]

    def start(self) -> None:
        """Start all threads."""
        for thread in self._threads:
            thread.start()

    def hurry(self) -> None:
        """Wake the idle threads, because there is work."""
        self._has_work.set()

    def stop(self) -> None:
        """Stop after the current rows; long jobs are left to the next start."""
        self._is_stopping.set()
        self._has_work.set()
        for thread in self._threads:
            thread.join(self._site.settings.limits.hard_s + _JOIN_GRACE_S)

    def _run_rows(
        self,
        executor: TurnExecutor | TaskExecutor,
        make_runner: _RunnerFactory,
    ) -> None:
        process: WorkerProcess = PersistentProcess(executor, self._site.settings.limits.hard_s)
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
        """Call a function that may fail temporarily; if it does, log the error and return False."""
        try:
            return action()
        except Exception as error:  # an exception would end the thread
            LOG.log(logging.ERROR, "%s", error, exc_info=not isinstance(error, SegarenaError))
            self._is_stopping.wait(_RETRY_S)
            return False

    def _recover_forever(self) -> None:
        """Release rows of dead processes, and end runs whose time is up."""
        lease_s = self._site.settings.limits.lease_s
        watches = {table: LeaseWatch[leases.RowKey](lease_s) for table in _TABLES}
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
                    error = WorkError("the process that held the lease stopped responding")
                    leased = LeasedRow(self._site, table, key, lease)
                    self._fail(row, leased, error, session)
            self.hurry()
        return True

    def _fail(
        self,
        row: Turn | Job,
        leased: LeasedRow,
        error: SegarenaError,
        session: Session,
    ) -> None:
        if isinstance(row, Turn):
            fail_turn(self._site, row, leased, error, session)
        else:
            fail_job(self._site, self._kinds[row.kind], row, leased, error, session)

    def _is_abandoned(self, lease: str) -> bool:
        """Return whether no thread works under a lease: its process ended, or this process no longer lists it."""
        if leases.is_mine(lease):
            return lease not in self._site.held
        # Servers that share an SQLite file run on the same machine.
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


def _job_runner_factories(
    site: Site,
    kinds: Iterable[JobKind],
    must_stop: Callable[[], bool],
) -> list[_RunnerFactory]:
    """Return a factory for each thread: one for short jobs, some for long jobs."""
    short: list[JobKind] = []
    long: list[JobKind] = []
    for kind in kinds:
        (long if kind.is_long else short).append(kind)
    factories: list[_RunnerFactory] = [partial(JobRunner, site, short)]
    if long:
        long_runner = partial(JobRunner, site, long, must_stop=must_stop)
        factories += [long_runner] * site.settings.long_workers
    return factories
