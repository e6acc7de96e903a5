"""The database: an SQLite file by default, PostgreSQL by address.

After a `writing` block the changes are on disk. SQLite uses a write-ahead log and syncs with each
transaction, so that acknowledged changes survive a power cut. Write transactions are serialized from
their start, so that none has to be repeated.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput, StoreError, StoreUnavailable

_WAIT_S = 20
"""How long a write transaction waits for the lock."""
_SQLITE_POOL_SIZE = 8
_POSTGRESQL_POOL_SIZE = 20
_POSTGRESQL_OVERFLOW = 20
"""Pool sizes: SQLite connections open quickly; PostgreSQL allows some more under load."""
_TRANSIENT_CODES = frozenset({"57P01", "57P02", "57P03", "53300", "40001", "40P01"})
"""PostgreSQL error codes of shutdown, start, too many connections, serialization failure and deadlock.

See appendix A of its manual. The driver raises them like errors of the query."""
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    f"busy_timeout={_WAIT_S * 1000}",
)


class DatabaseAway(StoreUnavailable):
    """The database does not answer, or its disk is full; a retry may succeed."""


class Database:
    """Sessions for reading and for writing.

    Args:
        address: the path of an SQLite file, or `postgresql://user:password@host/name`.

    Raises:
        InvalidInput: the address is of another kind.
    """

    def __init__(self, address: str | Path) -> None:
        self.file = None if "://" in str(address) else Path(address)
        self.engine = _postgresql(str(address)) if self.file is None else _sqlite(self.file)
        self._writes = self.engine.execution_options(writes=True)
        self._write_lock = threading.Lock() if self.is_sqlite else None

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is an SQLite file, which the processes of one machine share."""
        return self.file is not None

    @contextmanager
    def reading(self) -> Generator[Session]:
        """Open a session for reading one consistent state of the database.

        Raises:
            DatabaseAway: the database does not answer.
            StoreError: the database is damaged.
        """
        with _translated_errors(), Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def writing(self) -> Generator[Session]:
        """Open a session whose changes are on disk after the block, or undone when it raises.

        Raises:
            DatabaseAway: it does not answer, or the disk is full; nothing was changed.
            StoreError: the database is damaged.
        """
        with (
            _translated_errors(),
            self._one_at_a_time(),
            Session(self._writes, expire_on_commit=False) as session,
        ):
            yield session
            session.commit()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def _one_at_a_time(self) -> Generator[None]:
        """Queue the writers of this process: SQLite polls for its lock, which can starve a writer."""
        if self._write_lock is None:
            yield
            return
        if not self._write_lock.acquire(timeout=_WAIT_S):
            raise DatabaseAway(
                f"another writer has used the database for more than {_WAIT_S} s; try again"
            )
        try:
            yield
        finally:
            self._write_lock.release()


@contextmanager
def _translated_errors() -> Generator[None]:
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        why = next(iter(str(error.orig).splitlines()), "no reason given")
        raise DatabaseAway(
            f"the database cannot be used: {why}; make room, or start it again"
        ) from error
    except DBAPIError as error:
        # SQLite raises the base class for files that are not databases or are corrupt.
        if type(error.orig) is sqlite3.DatabaseError:
            raise StoreError(
                f"the database is damaged: {error.orig}; restore it from a backup"
            ) from error
        if not error.connection_invalidated and _code(error) not in _TRANSIENT_CODES:
            raise
        raise DatabaseAway("the connection to the database was lost; try again") from error
    except ConnectionError as error:
        # The driver does not wrap all connection errors.
        raise DatabaseAway("the connection to the database was lost; try again") from error
    except PoolTimeout as error:
        raise DatabaseAway("all connections to the database are in use; try again") from error


def _code(error: DBAPIError) -> str:
    """Return the PostgreSQL error code; "" when there is none."""
    if error.orig is None or not error.orig.args:
        return ""
    details: Any = error.orig.args[0]
    if not isinstance(details, dict):
        return ""
    return str(cast("dict[str, Any]", details).get("C", ""))


def _sqlite(file: Path) -> Engine:
    options = {"timeout": _WAIT_S, "check_same_thread": False}
    # Reuse the last connection first: each caches pages, and rotation would fill all the caches.
    pool: dict[str, Any] = {
        "pool_size": _SQLITE_POOL_SIZE,
        "max_overflow": -1,
        "pool_use_lifo": True,
    }
    engine = create_engine(f"sqlite:///{file}", connect_args=options, **pool)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
    # Transactions begin explicitly, not with the first change.
    connection.isolation_level = None
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    is_writer = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")


def _postgresql(address: str) -> Engine:
    try:
        url = make_url(address)
        if url.drivername not in ("postgresql", "postgresql+pg8000"):
            raise InvalidInput(
                f"expected postgresql://... or a file path, got {url.drivername}://..."
            )
        pool: dict[str, Any] = {
            "pool_size": _POSTGRESQL_POOL_SIZE,
            "max_overflow": _POSTGRESQL_OVERFLOW,
            "pool_use_lifo": True,
        }
        return create_engine(url.set(drivername="postgresql+pg8000"), pool_pre_ping=True, **pool)
    except (ArgumentError, NoSuchModuleError) as error:
        raise InvalidInput(
            f"expected an address like postgresql://user@host/name, got {address!r}"
        ) from error
