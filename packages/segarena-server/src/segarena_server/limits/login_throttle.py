"""Limits on attempts, counted in the database so that they hold across servers and restarts.

A wrong password counts for the combination of name *and* origin, so nobody can lock out somebody
else from another address. A device that has signed in to an account before has its own limit, so an
attacker cannot lock out its owner even from the same school's address (OWASP, "Slow down online
guessing attacks with device cookies").
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from segarena.files.hashes import sha256
from segarena_server.db.database import Database
from segarena_server.db.orm_models import Attempt

_SHORTEST_WAIT_S = 0.001
_MAX_CLOCK_SKEW_S = 60.0
"""Allowed skew between server clocks; attempts further in the future date from before a clock correction."""
_LOCK = 5_203_117
"""Identifier of the advisory lock; an arbitrary number that nothing else in the database uses."""
_SUBJECT_LETTERS = 32
"""Number of hexadecimal digits that keys store for the subject: half of a SHA-256."""
_IPV6_SITE_BITS = 64
"""Length of the network prefix: providers assign at least a /64 to every customer."""
_NAMES_OF_ONE_ORIGIN = 10
"""An origin may be a whole school, so it gets this multiple of one person's wrong passwords."""
_STRICT_SHARE = 3
"""After guesses at a name from many origins, the usual attempts per origin are divided by this."""

Key = tuple[str, object] | tuple[str, object, object]
"""A kind with a name, address or number; or a kind with a subject and an origin."""


class AttemptLimiter:
    """Limits the attempts per key in a time window.

    An attempt counts from its start, so that parallel attempts cannot evade the limit; callers take
    back successful ones.

    Args:
        database: stores the attempts under hashed keys.
        most: maximum number of attempts in the window.
        within_s: length of the window in seconds.
        now: returns seconds since 1970.
    """

    def __init__(
        self,
        database: Database,
        most: int,
        within_s: float,
        now: Callable[[], float],
    ) -> None:
        self._database = database
        self._most = most
        self._within_s = within_s
        self._now = now

    def take(self, *keys: Key, most: Mapping[str, int] | None = None) -> float:
        """Count an attempt for each key and return 0; if a limit is reached, count none and return the wait in seconds.

        Args:
            keys: keys under which the attempt counts.
            most: limits that differ from the usual one, by kind.
        """
        now = self._now()
        limits = most or {}
        most_by_hash = {_hash(key): limits.get(key[0], self._most) for key in keys}
        with self._database.writing() as session:
            _lock_attempts(session)
            # Old attempts are removed here, so that the table needs no job to clean it.
            session.connection().execute(delete(Attempt).where(~self._counts(now)))
            waits = [
                self._wait_s(session, hashed, allowed, now)
                for hashed, allowed in most_by_hash.items()
            ]
            wait_s = max(waits, default=0.0)
            if wait_s:
                return wait_s
            session.add_all(Attempt(key=hashed, at=now) for hashed in sorted(most_by_hash))
        return 0.0

    def count_of(self, kind: str, subject: object) -> int:
        """Return the number of attempts at a subject from all origins."""
        found = select(func.count()).where(_is_at(kind, subject), self._counts(self._now()))
        with self._database.reading() as session:
            return session.scalar(found) or 0

    def take_back(self, *keys: Key) -> None:
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

    def forget(self, *keys: Key) -> None:
        """Remove all attempts of these keys."""
        with self._database.writing() as session:
            session.connection().execute(delete(Attempt).where(Attempt.key.in_(map(_hash, keys))))

    def forget_subject(self, kind: str, subject: object) -> None:
        """Remove all attempts at a subject, from all origins."""
        with self._database.writing() as session:
            session.connection().execute(delete(Attempt).where(_is_at(kind, subject)))

    def forget_all(self) -> None:
        """Remove all attempts of all kinds."""
        with self._database.writing() as session:
            session.connection().execute(delete(Attempt))

    def _counts(self, now: float) -> ColumnElement[bool]:
        return Attempt.at.between(now - self._within_s, now + _MAX_CLOCK_SKEW_S)

    def _wait_s(
        self,
        session: Session,
        hashed: str,
        most: int,
        now: float,
    ) -> float:
        latest = (
            select(Attempt.at).where(Attempt.key == hashed).order_by(Attempt.at.desc()).limit(most)
        )
        times: Sequence[float] = session.scalars(latest).all()
        if len(times) < most:
            return 0.0
        oldest = times[-1]
        left_s = oldest + self._within_s - now
        # Another server's clock may be fast or slow: the wait is never 0, and never longer than the
        # window.
        return min(self._within_s, max(_SHORTEST_WAIT_S, left_s))


class SignInThrottle:
    """Throttles sign-ins by the number of wrong passwords.

    Args:
        attempts: counts the attempts.
        most: maximum number of wrong passwords for a name from one origin, and from one known device.
    """

    def __init__(self, attempts: AttemptLimiter, most: int) -> None:
        self._attempts = attempts
        self._most = most

    def start(
        self,
        name: str,
        address: str,
        device: str,
    ) -> float:
        """Count an attempt before the password is checked; return 0, or the seconds to wait after too many attempts.

        Args:
            name: case-folded name of the account, which need not exist.
            address: IP address of the visitor.
            device: id of a device that has signed in to this account before; "" for an unknown one.
        """
        if device:
            return self._attempts.take((_BY_DEVICE, device))
        most_of_origin = self._most * _NAMES_OF_ONE_ORIGIN
        most = {_AT_NAME: self._most, _FROM_ORIGIN: most_of_origin}
        if self._attempts.count_of(_AT_NAME, name) >= most_of_origin:
            # Guessing from many addresses becomes slower, but nobody is locked out: every origin
            # keeps some attempts.
            most[_AT_NAME] = max(1, self._most // _STRICT_SHARE)
        return self._attempts.take(*_keys(name, address, device), most=most)

    def succeed(
        self,
        name: str,
        address: str,
        device: str,
    ) -> None:
        """Forget the wrong passwords of a visitor who then entered the right one."""
        if device:
            self._attempts.forget((_BY_DEVICE, device))
            return
        at_name, from_origin = _keys(name, address, device)
        self._attempts.forget(at_name)
        # Keep the origin's other attempts: signing in to one's own account must not allow more
        # guesses at other passwords.
        self._attempts.take_back(from_origin)

    def take_back(
        self,
        name: str,
        address: str,
        device: str,
    ) -> None:
        """Take back the latest attempt, because its password was right."""
        self._attempts.take_back(*_keys(name, address, device))

    def lift(self, name: str) -> None:
        """Forget all wrong passwords for an account name, which must be case-folded."""
        self._attempts.forget_subject(_AT_NAME, name)


_AT_NAME = "password at"
_FROM_ORIGIN = "password from"
_BY_DEVICE = "password by"


def origin_of(address: str) -> str:
    """Return the origin of a request: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    # A server that listens on both protocols sees IPv4 clients as mapped IPv6 addresses.
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _IPV6_SITE_BITS), strict=False))


def _keys(
    name: str,
    address: str,
    device: str,
) -> tuple[Key, ...]:
    """Return the keys of a password attempt; without a known device, the key with the name comes first."""
    if device:
        return ((_BY_DEVICE, device),)
    origin = origin_of(address)
    return (_AT_NAME, name, origin), (_FROM_ORIGIN, origin)


def _lock_attempts(session: Session) -> None:
    """Serialize counting between servers; SQLite serializes writers by itself."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(select(func.pg_advisory_xact_lock(_LOCK)))


def _hash(key: Key) -> str:
    if len(key) == 2:
        return sha256(f"{key[0]}:{key[1]}")
    # The stored keys must not reveal addresses, but attempts at one subject must share a
    # prefix.
    kind, subject, origin = key
    of_origin = sha256(str(origin))[:-_SUBJECT_LETTERS]
    return _hash_of_subject(kind, subject) + of_origin


def _hash_of_subject(kind: str, subject: object) -> str:
    return sha256(f"{kind}:{subject}")[:_SUBJECT_LETTERS]


def _is_at(kind: str, subject: object) -> ColumnElement[bool]:
    return Attempt.key.startswith(_hash_of_subject(kind, subject))
