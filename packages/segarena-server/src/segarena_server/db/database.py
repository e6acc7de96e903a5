"""The database: an SQLite file by default, PostgreSQL if the address names it.

After a `writing` block the changes are on disk. SQLite uses a write-ahead log and syncs after each
transaction, so acknowledged changes survive a power cut. In SQLite, write transactions are
serialized from their start, so none of them has to be repeated.
"""

from __future__ import annotations

import socket
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Dialect, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry

from segarena.errors import InvalidInput, StoreError, StoreUnavailable

_WAIT_S = 20
"""Seconds that a write transaction waits for the lock."""
_SQLITE_POOL_SIZE = 8
_POSTGRESQL_PORT = 5432
_POSTGRESQL_POOL_SIZE = 20
_POSTGRESQL_OVERFLOW = 20
"""Sizes of the connection pools. SQLite connections open quickly, so their pool overflows without limit."""
_TRANSIENT_CODES = frozenset({"57P01", "57P02", "57P03", "53300", "40001", "40P01"})
"""PostgreSQL error codes: shutdown, crash shutdown, starting up, too many connections, serialization failure, deadlock.

See appendix A of the PostgreSQL manual. The driver raises them like errors in the query."""
# WAL lets pages read while a turn is written; FULL syncs the log at each commit.
_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    f"busy_timeout={_WAIT_S * 1000}",
)


class DatabaseAway(StoreUnavailable):
    """The database does not respond, or its disk is full; a retry may succeed."""


class Database:
    """Sessions for reading and for writing.

    Args:
        address: the path of an SQLite file, or `postgresql://user:password@host/name`.

    Raises:
        InvalidInput: the address has another form.
    """

    def __init__(self, address: str | Path) -> None:
        if "://" in str(address):
            self.file = None
            self.engine = _postgresql(str(address))
        else:
            self.file = Path(address)
            self.engine = _sqlite(self.file)
        self._is_closed = False
        event.listen(self.engine, "checkin", self._close_returned)
        self._writes = self.engine.execution_options(writes=True)
        # PostgreSQL serializes by row locks instead.
        self._write_lock = threading.Lock() if self.is_sqlite else None

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is an SQLite file, which the processes of one machine share."""
        return self.file is not None

    @contextmanager
    def reading(self) -> Generator[Session]:
        """Open a session that reads one consistent state of the database.

        Raises:
            DatabaseAway: the database does not respond.
            StoreError: the database is damaged.
        """
        # Rows stay usable after the block, which has often ended when a response is built from
        # them.
        with _translated_errors(), Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def writing(self) -> Generator[Session]:
        """Open a session whose changes are on disk after the block, or rolled back if the block raises.

        Raises:
            DatabaseAway: the database does not respond, or the disk is full; nothing was changed.
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
        """Close all connections; those that other threads still use are closed when they are returned."""
        self._is_closed = True
        self.engine.dispose()

    def _close_returned(self, _connection: Any, record: ConnectionPoolEntry) -> None:
        """Close a connection that is returned after `close`: nobody would take it from the pool again."""
        if self._is_closed:
            record.close()

    @contextmanager
    def _one_at_a_time(self) -> Generator[None]:
        """Queue the writers of this process, because SQLite polls for its lock, which can starve a writer."""
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
            f"the database is unavailable: {why}; free disk space, or restart the database"
        ) from error
    except DBAPIError as error:
        # SQLite raises this base class for corrupt files and for files that are not databases.
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
    """Return the PostgreSQL error code, or "" if the error has none."""
    if error.orig is None or not error.orig.args:
        return ""
    details: Any = error.orig.args[0]
    if not isinstance(details, dict):
        return ""
    return str(cast("dict[str, Any]", details).get("C", ""))


def _sqlite(file: Path) -> Engine:
    options = {"timeout": _WAIT_S, "check_same_thread": False}
    # Unlimited overflow: waiting for a connection would only move the queue from SQLite to the pool.
    # Reuse the last connection first: each has its own page cache, and rotation would fill all of
    # them.
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
    # Begin transactions explicitly; the driver would otherwise begin one at the first change.
    connection.isolation_level = None
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    is_writer = connection.get_execution_options().get("writes", False)
    # IMMEDIATE takes the write lock at once; a transaction that upgrades from reading to writing
    # could fail with "database is locked" without waiting.
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
        # Detects connections that the server closed, for example during its restart.
        engine = create_engine(url.set(drivername="postgresql+pg8000"), pool_pre_ping=True, **pool)
    except (ArgumentError, NoSuchModuleError) as error:
        raise InvalidInput(
            f"expected an address like postgresql://user@host/name, got {address!r}"
        ) from error
    event.listen(engine, "do_connect", _connect_postgresql)
    return engine


def _connect_postgresql(
    dialect: Dialect,
    _record: Any,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> DBAPIConnection:
    """Connect through our own socket: pg8000 leaves its socket open when the server ends during the handshake."""
    remaining = dict(options)
    path = remaining.pop("unix_sock", None)
    try:
        connection = _open_unix_socket(path) if path else _open_tcp_socket(remaining)
    except OSError as error:
        raise dialect.loaded_dbapi.InterfaceError(
            f"cannot connect to {path or 'its host'}: {error}"
        ) from error
    try:
        return dialect.loaded_dbapi.Connection(*arguments, **remaining, sock=connection)
    except BaseException:
        connection.close()
        raise


class _DirectSocket(socket.socket):
    """A socket whose `close` closes the descriptor at once, even if file objects still refer to it.

    pg8000 never closes its file object, which since Python 3.12 lives until garbage collection after an error.
    """

    def close(self) -> None:
        """Close the descriptor; do nothing if it is closed."""
        descriptor = self.detach()
        if descriptor != -1:
            socket.close(descriptor)


def _open_unix_socket(path: str) -> socket.socket:
    connection = _DirectSocket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def _open_tcp_socket(options: dict[str, Any]) -> socket.socket:
    address = (options.get("host", "localhost"), options.get("port", _POSTGRESQL_PORT))
    connection = _DirectSocket(fileno=socket.create_connection(address).detach())
    # A server that vanished would otherwise never be noticed.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return connection
