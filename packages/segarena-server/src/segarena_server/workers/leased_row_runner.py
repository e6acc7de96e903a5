"""The work of one thread on one row: lease it, execute its task in a worker process, write the result."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from sqlalchemy.orm import Session

from segarena.errors import (
    InvalidInput,
    RunConflict,
    SegarenaError,
    StoreUnavailable,
    WorkersInvalid,
    WorkStopped,
)
from segarena.work.jobs import Outcome, UnitResult, portable_error
from segarena.work.persistent_process import PersistentProcess
from segarena_server.db.orm_models import Job, Turn
from segarena_server.jobs import row_leases as leases
from segarena_server.server_log import LOG
from segarena_server.site import Site

WorkerProcess: TypeAlias = PersistentProcess[Any, Any]

_RENEW_EVERY_S = 5.0
_RETRY_WRITE_S = 1.0

_NOT_COUNTED = (WorkersInvalid, RunConflict, StoreUnavailable, WorkStopped)
"""Errors that are not the row's fault, so that the attempt does not count.

They mean that no process can be started, another process works on the run, the disk or database is
full or unavailable, or the server is shutting down.
"""

Row = TypeVar("Row", Turn, Job)
Written = TypeVar("Written")


class LeasedRow:
    """A row that this process has leased.

    Args:
        site: site of the row.
        table: table of the row.
        key: primary key of the row.
        lease: text of the lease.
    """

    def __init__(
        self,
        site: Site,
        table: leases.LeasedTable,
        key: leases.RowKey,
        lease: str,
    ) -> None:
        self._site = site
        self._table = table
        self._key = key
        self._lease = lease
        self._renewed_at = time.monotonic()

    def renew(self, **values: object) -> bool:
        """Renew the lease and write further columns; call this often, since most calls return at once.

        Returns:
            False if the lease was found to be lost, so that no result can be written.
        """
        if time.monotonic() - self._renewed_at < _RENEW_EVERY_S:
            return True
        self._renewed_at = time.monotonic()
        try:
            with self._site.database.writing() as session:
                return leases.renew_lease(session, self._table, self._key, self._lease, **values)
        except SegarenaError as error:  # one missed renewal is no reason to discard the work
            LOG.warning("a lease could not be renewed: %s", error)
            return True

    def finish(self, session: Session, **values: object) -> bool:
        """Write the result; return False if the lease was lost, in which case nothing else may be written either."""
        return leases.finish_row(session, self._table, self._key, self._lease, **values)

    def release(self, session: Session) -> None:
        """Return the row to the queue without counting the attempt."""
        leases.release_row(session, self._table, self._key, self._lease)

    def fail_attempt(self, session: Session, why: str) -> str:
        """End the lease after a failed attempt; return the new state, "waiting" or "dead"."""
        most = self._site.settings.limits.tries
        return leases.fail_attempt(
            session, self._table, self._key, self._lease, most_tries=most, why=why
        )


@contextmanager
def hold_lease(site: Site) -> Generator[str]:
    """Yield the text of a new lease, which the site lists as held while the block runs.

    If a row still has the lease afterwards, because the database became unavailable, it counts as
    abandoned.
    """
    lease = leases.new_lease()
    site.held.add(lease)
    try:
        yield lease
    finally:
        site.held.discard(lease)


def write_patiently(site: Site, write: Callable[[Session], Written]) -> Written:
    """Write in a transaction, and retry while the database is unavailable, so that finished work is not lost.

    Raises:
        StoreUnavailable: the database is unavailable for longer than a lease lasts.
    """
    until = time.monotonic() + site.settings.limits.lease_s
    while True:
        try:
            with site.database.writing() as session:
                return write(session)
        except StoreUnavailable:
            if time.monotonic() > until:
                raise
            time.sleep(_RETRY_WRITE_S)


class RowRunner(ABC, Generic[Row]):
    """Processes the rows of a table, one after the other.

    Args:
        site: site of the rows.
        process: worker process that does their work.
    """

    def __init__(self, site: Site, process: WorkerProcess) -> None:
        self.site = site
        self.process = process

    def run_next(self) -> bool:
        """Process the next row; return False if none is waiting."""
        with hold_lease(self.site) as lease:
            with self.site.database.writing() as session:
                row = self.lease(session, lease)
            if row is None:
                return False
            # The lease is committed by now, so other processes leave the row alone.
            self._process(row, LeasedRow(self.site, type(row), self.key(row), lease))
        return True

    def _process(self, row: Row, leased: LeasedRow) -> None:
        try:
            outcome = self.execute(row, leased)
            if isinstance(outcome, UnitResult):
                write_patiently(self.site, partial(self.write, row, leased, outcome.result))
                if self.may_enqueue(outcome.result):
                    self.site.hurry()
            elif isinstance(outcome.error, InvalidInput):
                write_patiently(self.site, partial(self.refuse, row, leased, outcome.error))
            else:
                raise outcome.error
        except _NOT_COUNTED:
            write_patiently(self.site, leased.release)
            raise
        except Exception as error:
            is_unexpected = not isinstance(error, SegarenaError)
            LOG.error("%s: %s", self.key(row), error, exc_info=is_unexpected)
            failure = portable_error(error)
            write_patiently(self.site, partial(self.fail, row, leased, failure))
        self.site.news.notify(self.topic(row))

    @abstractmethod
    def key(self, row: Row) -> tuple[Any, ...]:
        """Return the primary key of a row."""

    @abstractmethod
    def topic(self, row: Row) -> Any:
        """Return the notifier topic on which requests wait for a row."""

    @abstractmethod
    def lease(self, session: Session, lease: str) -> Row | None:
        """Lease the next waiting row and return it, or None if there is none."""

    @abstractmethod
    def execute(self, row: Row, leased: LeasedRow) -> Outcome[Any, Any]:
        """Execute the task of a row in the worker process."""

    @abstractmethod
    def write(
        self,
        row: Row,
        leased: LeasedRow,
        result: Any,
        session: Session,
    ) -> None:
        """Write the result of a row, and its new state."""

    def may_enqueue(self, result: Any) -> bool:
        """Return whether writing this result may have added work to the queue."""
        return True

    @abstractmethod
    def refuse(
        self,
        row: Row,
        leased: LeasedRow,
        error: InvalidInput,
        session: Session,
    ) -> None:
        """Record that the input of a row is invalid; the row is not attempted again."""

    @abstractmethod
    def fail(
        self,
        row: Row,
        leased: LeasedRow,
        error: SegarenaError,
        session: Session,
    ) -> None:
        """Record a failed attempt."""
