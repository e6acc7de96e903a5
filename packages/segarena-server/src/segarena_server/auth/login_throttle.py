"""How often something may be tried, counted in the database: for all servers of it together, and over restarts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from segarena.files.hashes import sha256
from segarena_server.db.database import Database
from segarena_server.db.orm_models import Attempt

_APART_S = 60.0
"""So far clocks of several servers may be apart; what was tried later than that was tried before the clock was set."""
_LOCK = 5_203_117
"""Any number that nothing else in the database locks."""


class AttemptLimiter:
    """Allows so many tries in so many seconds for each key: a kind with a name, an address or a number.

    A try counts from when it begins, so that many at once are no way around it; one that was right is taken back.

    Args:
        database: where they are counted; keys are kept as hashes.
        most: tries.
        within_s: seconds.
        now: the time of day.
    """

    def __init__(
        self, database: Database, most: int, within_s: float, now: Callable[[], float]
    ) -> None:
        self._database = database
        self._most = most
        self._within_s = within_s
        self._now = now

    def take(self, *keys: tuple[str, object]) -> float:
        """Count a try for each key and return 0; or count none and return how long the slowest of them has to wait."""
        now = self._now()
        hashes = sorted(map(_hash, keys))
        with self._database.writing() as session:
            _hold(session)
            session.connection().execute(delete(Attempt).where(~self._counts(now)))
            if waits := [wait_s for one in hashes if (wait_s := self._wait_s(session, one, now))]:
                return max(waits)
            session.add_all(Attempt(key=one, at=now) for one in hashes)
        return 0.0

    def take_back(self, *keys: tuple[str, object]) -> None:
        """Uncount the latest try of each."""
        with self._database.writing() as session:
            for one in map(_hash, keys):
                latest = (
                    select(Attempt)
                    .where(Attempt.key == one)
                    .order_by(Attempt.at.desc(), Attempt.id.desc())
                )
                if found := session.scalar(latest.limit(1)):
                    session.delete(found)

    def forget(self, *keys: tuple[str, object]) -> None:
        """Uncount all tries of these."""
        with self._database.writing() as session:
            session.connection().execute(delete(Attempt).where(Attempt.key.in_(map(_hash, keys))))

    def _counts(self, now: float) -> ColumnElement[bool]:
        return Attempt.at.between(now - self._within_s, now + _APART_S)

    def _wait_s(self, session: Session, one: str, now: float) -> float:
        tried = select(Attempt.at).where(Attempt.key == one).order_by(Attempt.at.desc())
        times: Sequence[float] = session.scalars(tried.limit(self._most)).all()
        if len(times) < self._most:
            return 0.0
        return min(self._within_s, max(0.001, times[-1] + self._within_s - now))


def _hold(session: Session) -> None:
    """Let one server after the other count; in a file writers come so anyway."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(_LOCK)))


def _hash(key: tuple[str, object]) -> str:
    return sha256(f"{key[0]}:{key[1]}")
