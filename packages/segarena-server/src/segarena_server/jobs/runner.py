"""What a hand does with a row, whatever it is about: lease it, have it done, write what came of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any, Generic, TypeVar

from sqlalchemy.orm import Session

from segarena.errors import (
    InvalidInput,
    RunConflict,
    SegarenaError,
    StoreAway,
    WorkersInvalid,
    WorkStopped,
)
from segarena.work.jobs import Outcome, UnitResult, portable_error
from segarena.work.persistent_process import PersistentProcess
from segarena_server.db.orm_models import Job, Turn
from segarena_server.http.middleware import LOG
from segarena_server.jobs.claimed_row import LeasedRow, leasing, write_patiently
from segarena_server.jobs.worker import WorkerTask
from segarena_server.site import Site

WorkerProcess = PersistentProcess[WorkerTask[Any], Any]
_NOT_NOW = (WorkersInvalid, RunConflict, StoreAway, WorkStopped)
"""No fault of the row, so no try of it: no process starts, another one is at it, there is no room, the server ends."""

Row = TypeVar("Row", Turn, Job)


class RowRunner(ABC, Generic[Row]):
    """Does rows of a table, one after the other.

    Args:
        site: whose.
        process: what does them.
    """

    def __init__(self, site: Site, process: WorkerProcess) -> None:
        self.site = site
        self.process = process

    def one(self) -> bool:
        """Do a row; False when there is none."""
        with leasing(self.site) as lease:
            with self.site.database.writing() as session:
                row = self.lease(session, lease)
            if row is None:
                return False
            self._do(row, LeasedRow(self.site, type(row), self.key(row), lease))
        return True

    def _do(self, row: Row, hold: LeasedRow) -> None:
        try:
            outcome = self.outcome(row, hold)
            if isinstance(outcome, UnitResult):
                write_patiently(self.site, partial(self.write, row, hold, outcome.result))
                if self.makes_work(outcome.result):
                    self.site.hurry()
            elif isinstance(outcome.error, InvalidInput):
                write_patiently(self.site, partial(self.refuse, row, hold, outcome.error))
            else:
                raise outcome.error
        except _NOT_NOW:
            write_patiently(self.site, hold.hand_on)
            raise
        except Exception as error:
            LOG.error("%s: %s", self.key(row), error, exc_info=not isinstance(error, SegarenaError))
            write_patiently(
                self.site, partial(self.fail, self.site, row, hold, portable_error(error))
            )
        self.site.news.tell(self.about(row))

    @abstractmethod
    def key(self, row: Row) -> tuple[Any, ...]:
        """Return the primary key of a row."""

    @abstractmethod
    def about(self, row: Row) -> Any:
        """Return what those wait for who wait for a row."""

    @abstractmethod
    def lease(self, session: Session, lease: str) -> Row | None:
        """Return a row that waits, leased; None when there is none."""

    @abstractmethod
    def outcome(self, row: Row, hold: LeasedRow) -> Outcome[Any, Any]:
        """Have it done."""

    @abstractmethod
    def write(self, row: Row, hold: LeasedRow, result: Any, session: Session) -> None:
        """Write what came of it, and its new state."""

    def makes_work(self, result: Any) -> bool:
        """Tell whether something may wait now because of what was written."""
        return True

    @abstractmethod
    def refuse(self, row: Row, hold: LeasedRow, error: InvalidInput, session: Session) -> None:
        """Write that it cannot be, by the fault of whoever asked for it."""

    @staticmethod
    @abstractmethod
    def fail(site: Site, row: Row, hold: LeasedRow, error: SegarenaError, session: Session) -> None:
        """Write that a try came to nothing."""
