"""All hands of a serving process: threads, each with a worker process, and one that looks for rows whose holder died.

Turns have hands of their own, since a participant waits for each; so have jobs that take seconds and jobs that may take
long, so that none of the three keeps another waiting.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from segarena.errors import SegarenaError, WorkError
from segarena.work.persistent_process import PersistentProcess
from segarena_server.db.orm_models import Job, Turn
from segarena_server.http.middleware import LOG
from segarena_server.jobs import row_queue
from segarena_server.jobs.claimed_row import LeasedRow
from segarena_server.jobs.job_runner import JobRunner
from segarena_server.jobs.kinds import job_kinds
from segarena_server.jobs.lease import LeaseWatch, is_gone, is_mine
from segarena_server.jobs.runner import RowRunner, WorkerProcess
from segarena_server.jobs.turn_runner import TurnRunner
from segarena_server.jobs.worker import TaskExecutor
from segarena_server.runs import run_repository
from segarena_server.site import Site

_IDLE_S = 0.5
_IDLE_FOR_OTHERS_S = 0.1
"""Where another process takes turns in, nobody says that there is one."""
_LOOK_AROUND_S = 2.0
_AGAIN_S = 1.0
"""After a fault of the database or the disk."""
_LAST_S = 10.0
"""So much longer than the hard limit a thread has to end."""

_HANDS: dict[type[Turn] | type[Job], type[RowRunner[Any]]] = {Turn: TurnRunner, Job: JobRunner}


class WorkerPool:
    """All hands of this process.

    Args:
        site: whose rows.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._is_over = threading.Event()
        self._work = threading.Event()
        if site.settings.workers:
            work = [partial(self._do, make) for make in _makers(site, self._is_over.is_set)]
        else:
            work = []
        self._threads = [
            threading.Thread(target=each, daemon=True) for each in (*work, self._look_around)
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def hurry(self) -> None:
        """Say that there is work: those who are idle look at once."""
        self._work.set()

    def stop(self) -> None:
        """End when what is under way is done, long jobs apart; the rest stays for the next start."""
        self._is_over.set()
        self._work.set()
        for thread in self._threads:
            thread.join(self._site.settings.limits.hard_s + _LAST_S)

    def _do(self, make: Callable[[WorkerProcess], RowRunner[Any]]) -> None:
        limits = self._site.settings.limits
        process: WorkerProcess = PersistentProcess(
            TaskExecutor(limits.soft_s, limits.hard_s), limits.hard_s
        )
        hand = make(process)
        try:
            while not self._is_over.is_set():
                if not self._try(hand.one):
                    self._work.wait(
                        _IDLE_S if self._site.database.is_sqlite else _IDLE_FOR_OTHERS_S
                    )
                    self._work.clear()
        finally:
            process.end()

    def _try(self, do: Callable[[], bool]) -> bool:
        """Do something that may fail for a while; what the fault is stands in the log."""
        try:
            return do()
        except Exception as error:  # a thread that ends does nothing any more
            LOG.log(logging.ERROR, "%s", error, exc_info=not isinstance(error, SegarenaError))
            self._is_over.wait(_AGAIN_S)
            return False

    def _look_around(self) -> None:
        """Hand out again what a dead process held, and end runs whose time is over."""
        watched = {
            table: LeaseWatch[row_queue.RowKey](self._site.settings.limits.lease_s)
            for table in _HANDS
        }
        while True:
            for table, seen in watched.items():
                self._try(partial(self._recover, table, seen))
            self._try(self._end_late)
            if self._is_over.wait(_LOOK_AROUND_S):
                return

    def _recover(self, table: row_queue.LeasedTable, watched: LeaseWatch[row_queue.RowKey]) -> bool:
        with self._site.database.reading() as session:
            held = row_queue.active_leases(session, table)
        for key, (lease, _) in held.items():
            if self._is_gone(lease):
                with self._site.database.writing() as session:
                    row_queue.release_row(session, table, key, lease)
                self.hurry()
        for key in watched.dead(held):
            lease = held[key][0]
            with self._site.database.writing() as session:
                if not self._is_gone(lease) and (row := session.get(table, key)) is not None:
                    silent = WorkError("the process that had it was not heard of any more")
                    _HANDS[table].fail(
                        self._site, row, LeasedRow(self._site, table, key, lease), silent, session
                    )
            self.hurry()
        return True

    def _is_gone(self, lease: str) -> bool:
        """Tell whether nobody has a lease any more: its process ended, or is this one and does something else."""
        if is_mine(lease):
            return lease not in self._site.held
        return is_gone(lease, is_same_machine=self._site.database.is_sqlite)

    def _end_late(self) -> bool:
        now = self._site.now()
        with self._site.database.reading() as session:
            late = run_repository.overdue_runs(session, now)
        if late:
            with self._site.database.writing() as session:
                run_repository.end_overdue_runs(session, late, now)
            self.hurry()
        return True


def _makers(
    site: Site, is_over: Callable[[], bool]
) -> Iterator[Callable[[WorkerProcess], RowRunner[Any]]]:
    """Yield what makes each hand: so many for turns, one for short jobs, so many for long ones."""
    short = [kind for kind in job_kinds().values() if not kind.is_long]
    long = [kind for kind in job_kinds().values() if kind.is_long]
    yield from [partial(TurnRunner, site)] * site.settings.workers
    yield partial(JobRunner, site, short)
    if long:
        yield from [partial(JobRunner, site, long, is_over=is_over)] * site.settings.long_workers
