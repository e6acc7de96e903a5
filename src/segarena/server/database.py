"""The database: an SQLite file by default, PostgreSQL by address. What `writing` has left is on disk.

SQLite keeps a write-ahead log and waits for the disk with each transaction, so that what was acknowledged outlives a
power cut; writers come one after the other from the beginning, so that none has to start again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput, StoreError

_WAIT_S = 20
"""How long a writer waits for the one before it."""
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={_WAIT_S * 1000}")


class DatabaseAway(StoreError):
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

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file, which processes of one machine share."""
        return self.file is not None

    @contextmanager
    def reading(self) -> Generator[Session]:
        """Give a session that sees one state of the database and changes nothing.

        Raises:
            DatabaseAway: it does not answer.
        """
        with _told(), Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def writing(self) -> Generator[Session]:
        """Give a session whose changes are on disk when the block ends, or none of them when it raises.

        Raises:
            DatabaseAway: it does not answer, or there is no room: nothing was changed.
        """
        with _told(), Session(self._writes, expire_on_commit=False) as session:
            yield session
            session.commit()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


@contextmanager
def _told() -> Generator[None]:
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        why = str(error.orig).splitlines()[0]
        raise DatabaseAway(f"the database cannot be used: {why}; make room, or start it again") from error
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
        raise DatabaseAway("the connection to the database was lost; try again") from error


def _sqlite(file: Path) -> Engine:
    engine = create_engine(f"sqlite:///{file}", connect_args={"timeout": _WAIT_S, "check_same_thread": False})
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
            raise InvalidInput(f"expected postgresql://... or the path of a file, got {url.drivername}://...")
        return create_engine(url.set(drivername="postgresql+pg8000"), pool_pre_ping=True, pool_size=10, max_overflow=20)
    except (ArgumentError, NoSuchModuleError) as error:
        raise InvalidInput(f"expected an address like postgresql://user@host/name, got {address!r}") from error
