"""The database: an SQLite file by default, PostgreSQL by address. What `writing` has left is on disk.

SQLite keeps a write-ahead log and waits for the disk with each transaction, so that what was acknowledged outlives a
power cut; writers come one after the other from the beginning, so that none has to start again.
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
"""How long a writer waits for the one before it."""
_FILES = 8
_CONNECTIONS = 20
_MORE = 20
"""Connections that are kept: to a file, which opens quickly; to a server, where many at once may have some more."""
_AWAY = frozenset({"57P01", "57P02", "57P03", "53300", "40001", "40P01"})
"""What PostgreSQL says of itself while it ends or starts, has too many connections, or two writers wait for each other;
see its manual, appendix A. Its driver raises them like faults of ours."""
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    f"busy_timeout={_WAIT_S * 1000}",
)


class DatabaseAway(StoreUnavailable):
    """The database does not answer, or its disk is full; the same request may work later."""


class Database:
    """Sessions for reading and for writing.

    Args:
        address: the path of an SQLite file, or `postgresql://user:password@host/name`.

    Raises:
        InvalidInput: another kind of address.
    """

    def __init__(self, address: str | Path) -> None:
        self.file = None if "://" in str(address) else Path(address)
        self.engine = _postgresql(str(address)) if self.file is None else _sqlite(self.file)
        self._writes = self.engine.execution_options(writes=True)
        self._in_line = threading.Lock() if self.is_sqlite else None

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file, which processes of one machine share."""
        return self.file is not None

    @contextmanager
    def reading(self) -> Generator[Session]:
        """Give a session that sees one state of the database and changes nothing.

        Raises:
            DatabaseAway: it does not answer.
            StoreError: it is damaged.
        """
        with _told(), Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def writing(self) -> Generator[Session]:
        """Give a session whose changes are on disk when the block ends, or none of them when it raises.

        Raises:
            DatabaseAway: it does not answer, or there is no room: nothing was changed.
            StoreError: it is damaged.
        """
        with (
            _told(),
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
        """Let writers of this process stand in line: SQLite has them look again and again, and the last one may win."""
        if self._in_line is None:
            yield
            return
        if not self._in_line.acquire(timeout=_WAIT_S):
            raise DatabaseAway(
                f"the database is written to by others for more than {_WAIT_S} s; try again"
            )
        try:
            yield
        finally:
            self._in_line.release()


@contextmanager
def _told() -> Generator[None]:
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        why = next(iter(str(error.orig).splitlines()), "it does not say why")
        raise DatabaseAway(
            f"the database cannot be used: {why}; make room, or start it again"
        ) from error
    except DBAPIError as error:
        if (
            type(error.orig) is sqlite3.DatabaseError
        ):  # SQLite's own word for a file that is none, or not any more
            raise StoreError(
                f"the database is damaged: {error.orig}; restore it from a backup"
            ) from error
        if not error.connection_invalidated and _code(error) not in _AWAY:
            raise
        raise DatabaseAway("the connection to the database was lost; try again") from error
    except ConnectionError as error:  # the driver lets some of them through as they are
        raise DatabaseAway("the connection to the database was lost; try again") from error
    except PoolTimeout as error:
        raise DatabaseAway("all connections to the database are in use; try again") from error


def _code(error: DBAPIError) -> str:
    """Return what PostgreSQL calls an error; "" where nobody knows."""
    told: Any = error.orig.args[0] if error.orig is not None and error.orig.args else None
    return str(cast("dict[str, Any]", told).get("C", "")) if isinstance(told, dict) else ""


def _sqlite(file: Path) -> Engine:
    options = {"timeout": _WAIT_S, "check_same_thread": False}
    # The one that was used last comes first: each keeps pages of the file, and those in turn would be kept by all.
    pool: dict[str, Any] = {"pool_size": _FILES, "max_overflow": -1, "pool_use_lifo": True}
    engine = create_engine(f"sqlite:///{file}", connect_args=options, **pool)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, not at the first change
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
                f"expected postgresql://... or the path of a file, got {url.drivername}://..."
            )
        pool: dict[str, Any] = {
            "pool_size": _CONNECTIONS,
            "max_overflow": _MORE,
            "pool_use_lifo": True,
        }
        return create_engine(url.set(drivername="postgresql+pg8000"), pool_pre_ping=True, **pool)
    except (ArgumentError, NoSuchModuleError) as error:
        raise InvalidInput(
            f"expected an address like postgresql://user@host/name, got {address!r}"
        ) from error
