"""Limits on attempts, counted in the database: they hold across its servers and across restarts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from segarena.files.hashes import sha256
from segarena_server.db.database import Database
from segarena_server.db.orm_models import Attempt

_MAX_CLOCK_SKEW_S = 60.0
"""Allowed skew between server clocks; attempts further in the future predate a clock correction."""
_LOCK = 5_203_117
"""Identifier of the advisory lock: any number that nothing else in the database uses."""


class AttemptLimiter:
    """Limits attempts in a time window for each key: a kind together with a name, address or number.

    An attempt counts from its start, so that parallel attempts do not evade the limit; successful
    ones are taken back.

    Args:
        database: stores the attempts, with hashed keys.
        most: attempts allowed in the window.
        within_s: length of the window in seconds.
        now: returns the time of day.
    """

    def __init__(
        self, database: Database, most: int, within_s: float, now: Callable[[], float]
    ) -> None:
        self._database = database
        self._most = most
        self._within_s = within_s
        self._now = now

    def take(self, *keys: tuple[str, object]) -> float:
        """Count an attempt for each key and return 0, or count none and return the longest wait in seconds."""
        now = self._now()
        hashes = sorted(map(_hash, keys))
        with self._database.writing() as session:
            _lock_attempts(session)
            session.connection().execute(delete(Attempt).where(~self._counts(now)))
            wait_s = max((self._wait_s(session, hashed, now) for hashed in hashes), default=0.0)
            if wait_s:
                return wait_s
            session.add_all(Attempt(key=hashed, at=now) for hashed in hashes)
        return 0.0

    def take_back(self, *keys: tuple[str, object]) -> None:
        """Remove the latest attempt of each key."""
        with self._database.writing() as session:
            for hashed in map(_hash, keys):
                latest = (
                    select(Attempt)
                    .where(Attempt.key == hashed)
                    .order_by(Attempt.at.desc(), Attempt.id.desc())
                )
                if found := session.scalar(latest.limit(1)):
                    session.delete(found)

    def forget(self, *keys: tuple[str, object]) -> None:
        """Remove all attempts of these keys."""
        with self._database.writing() as session:
            session.connection().execute(delete(Attempt).where(Attempt.key.in_(map(_hash, keys))))

    def _counts(self, now: float) -> ColumnElement[bool]:
        return Attempt.at.between(now - self._within_s, now + _MAX_CLOCK_SKEW_S)

    def _wait_s(self, session: Session, hashed: str, now: float) -> float:
        tried = select(Attempt.at).where(Attempt.key == hashed).order_by(Attempt.at.desc())
        times: Sequence[float] = session.scalars(tried.limit(self._most)).all()
        if len(times) < self._most:
            return 0.0
        return min(self._within_s, max(0.001, times[-1] + self._within_s - now))


def _lock_attempts(session: Session) -> None:
    """Serialize counting between servers; SQLite serializes writers anyway."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(_LOCK)))


def _hash(key: tuple[str, object]) -> str:
    return sha256(f"{key[0]}:{key[1]}")
