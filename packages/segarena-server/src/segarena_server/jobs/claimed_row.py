"""One row that a hand of this process works on, and the patience to write what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy.orm import Session

from segarena.errors import SegarenaError, StoreAway
from segarena_server.http.middleware import LOG
from segarena_server.jobs import row_queue
from segarena_server.jobs.lease import new_lease
from segarena_server.site import Site

_BEAT_S = 5.0
_AGAIN_S = 1.0

Written = TypeVar("Written")


class LeasedRow:
    """A row under a lease of this process.

    Args:
        site: whose row.
        table: its kind.
        key: its primary key.
        lease: the text of the lease.
    """

    def __init__(
        self, site: Site, table: row_queue.LeasedTable, key: row_queue.RowKey, lease: str
    ) -> None:
        self._site = site
        self._table = table
        self._key = key
        self._lease = lease
        self._last = time.monotonic()

    def beat(self, **values: object) -> None:
        """Keep the lease alive; to be called often."""
        if time.monotonic() - self._last < _BEAT_S:
            return
        self._last = time.monotonic()
        try:
            with self._site.database.writing() as session:
                row_queue.renew_lease(session, self._table, self._key, self._lease, **values)
        except SegarenaError as error:  # a beat that is missed is no reason to drop the work
            LOG.warning("a lease could not be kept: %s", error)

    def finish(self, session: Session, **values: object) -> bool:
        """Write what came of it; False when the lease was lost, and then nothing else may be written either."""
        return row_queue.finish_row(session, self._table, self._key, self._lease, **values)

    def hand_on(self, session: Session) -> None:
        """Let it wait again; that was no try."""
        row_queue.release_row(session, self._table, self._key, self._lease)

    def give_up(self, session: Session, why: str) -> str:
        """Let it wait again, or be dead after its last try; return which."""
        most = self._site.settings.limits.tries
        return row_queue.fail_attempt(
            session, self._table, self._key, self._lease, most_tries=most, why=why
        )


@contextmanager
def leasing(site: Site) -> Generator[str]:
    """Give the text of a lease that is this process's own for as long as the block runs.

    A row that has it afterwards, because the database went away in the middle, is known to be nobody's.
    """
    lease = new_lease()
    site.held.add(lease)
    try:
        yield lease
    finally:
        site.held.discard(lease)


def write_patiently(site: Site, write: Callable[[Session], Written]) -> Written:
    """Write something in a transaction, again and again while the database is away: what was done is not thrown away.

    Raises:
        StoreAway: it is away for longer than a lease lasts.
    """
    until = time.monotonic() + site.settings.limits.lease_s
    while True:
        try:
            with site.database.writing() as session:
                return write(session)
        except StoreAway:
            if time.monotonic() > until:
                raise
            time.sleep(_AGAIN_S)
