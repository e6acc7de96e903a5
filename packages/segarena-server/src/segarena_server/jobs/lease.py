"""Leases on rows: which process works on a row, and whether that process is still alive.

A row is leased to one process at a time. The process renews the lease regularly, writes the result once, and releases
the row when it cannot work on it. A process that lost its lease changes nothing any more, so work that is done twice is
written once.

No clock is compared with that of another machine. Each observer remembers when it first saw a renewal, by a monotonic
clock of its own; a lease that is not renewed for `lease_s` has expired. On the same machine the end of a process is
detected at once.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from sqlalchemy import Table as SqlTable
from sqlalchemy import inspect, select, update
from sqlalchemy.orm import Session

from segarena_server.db.orm_models import Job, Turn

LeasedTable: TypeAlias = type[Turn] | type[Job]
RowKey: TypeAlias = tuple[Any, ...]
"""The primary key of a row."""

_PROC = Path("/proc")
_START_TIME_FIELD = 19
"""Index of `starttime` among the fields of /proc/PID/stat that follow the command name; see proc(5)."""

LeaseKey = TypeVar("LeaseKey", bound=Hashable)


def new_lease() -> str:
    """Return the text of a new lease of this process; no two are equal."""
    return _own_prefix() + secrets.token_hex(8)


def is_gone(lease: str, *, is_same_machine: bool = False) -> bool:
    """Return whether the process that a lease names has certainly ended.

    Args:
        lease: its text.
        is_same_machine: whether all processes that share the rows are known to run on this machine. Then every lease
            from before its last restart belongs to a process that has ended.
    """
    machine, _, rest = lease.partition(":")
    process_id, _, started = rest.rpartition(":")[0].partition(":")
    if machine != _this_machine():
        return is_same_machine
    return not process_id.isdecimal() or _start_time(int(process_id)) != started


def is_mine(lease: str) -> bool:
    """Return whether this process made a lease."""
    return lease.startswith(_own_prefix())


class LeaseWatch(Generic[LeaseKey]):
    """Detects expired leases of other processes by the renewals that it observes.

    Args:
        lease_s: a lease that is not renewed for so long has expired.
        clock: monotonic, in seconds.
    """

    def __init__(self, lease_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lease_s = lease_s
        self._clock = clock
        self._last_change: dict[LeaseKey, tuple[tuple[str, int], float]] = {}

    def expired(self, leases: Mapping[LeaseKey, tuple[str, int]]) -> list[LeaseKey]:
        """Return the keys of expired leases, and forget all that are not among `leases` any more.

        Args:
            leases: text and number of renewals of every lease, by the key of its row.
        """
        now = self._clock()
        last_change: dict[LeaseKey, tuple[tuple[str, int], float]] = {}
        expired: list[LeaseKey] = []
        for key, lease in leases.items():
            known = self._last_change.get(key)
            if known is None or known[0] != lease:
                known = (lease, now)
            last_change[key] = known
            if now - known[1] >= self._lease_s:
                expired.append(key)
        self._last_change = last_change
        return expired


def lease_row(row: Turn | Job, lease: str) -> None:
    """Lease a waiting row; this counts as a try."""
    row.state = "leased"
    row.lease = lease
    row.beats = 0
    row.tries = row.tries + 1


def renew_lease(
    session: Session, table: LeasedTable, key: RowKey, lease: str, **values: object
) -> bool:
    """Renew a lease and write further columns; return False when the lease was lost."""
    return _update_leased(session, table, key, lease, beats=table.beats + 1, **values)


def finish_row(
    session: Session, table: LeasedTable, key: RowKey, lease: str, **values: object
) -> bool:
    """Write the result of a row and end the lease; return False, with nothing written, when the lease was lost."""
    return _update_leased(session, table, key, lease, **values, lease="")


def release_row(session: Session, table: LeasedTable, key: RowKey, lease: str) -> None:
    """Put a row back into the queue that was not processed by no fault of its own; the try is not counted."""
    _update_leased(session, table, key, lease, state="waiting", lease="", tries=table.tries - 1)


def fail_attempt(
    session: Session, table: LeasedTable, key: RowKey, lease: str, *, most_tries: int, why: str
) -> str:
    """End a lease after a failed try.

    Returns:
        The new state: "waiting", or "dead" after the last try; "" when the row is under another lease by now, or none.
    """
    row = session.get(table, key, with_for_update=True)
    if row is None or row.lease != lease or row.state != "leased":
        return ""
    row.lease = ""
    row.failure = why
    row.state = "waiting" if row.tries < most_tries else "dead"
    return row.state


def active_leases(session: Session, table: LeasedTable) -> dict[RowKey, tuple[str, int]]:
    """Return the leases of a table by primary key, each with its number of renewals."""
    columns = _primary_key(table).columns
    leased = select(*columns, table.lease, table.beats).where(table.state == "leased")
    return {tuple(key): (lease, beats) for *key, lease, beats in session.execute(leased)}


def _update_leased(
    session: Session, table: LeasedTable, key: RowKey, held_lease: str, **values: object
) -> bool:
    columns = _primary_key(table).columns
    is_row = [column == value for column, value in zip(columns, key, strict=True)]
    statement = update(table).where(*is_row, table.lease == held_lease).values(**values)
    return bool(session.connection().execute(statement).rowcount)


def _primary_key(table: LeasedTable) -> Any:
    mapped: SqlTable = inspect(table).local_table  # pyright: ignore[reportAssignmentType]
    return mapped.primary_key


def _own_prefix() -> str:
    process_id = os.getpid()
    return f"{_this_machine()}:{process_id}:{_start_time(process_id)}:"


def _this_machine() -> str:
    """Return an identifier of this boot of the machine and of the process namespace."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = (_PROC / "self/ns/pid").readlink()
    except OSError:
        return "elsewhere"
    # A colon separates the parts of a lease.
    return f"{boot}/{namespace}".replace(":", "")


def _start_time(process_id: int) -> str:
    """Return when a process was started, in clock ticks since boot; "" when there is no such process."""
    try:
        stat = (_PROC / str(process_id) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The command name stands in parentheses and may contain blanks and parentheses itself.
    fields = stat.rpartition(")")[2].split()
    is_zombie = fields[0] == "Z"
    return "" if is_zombie else fields[_START_TIME_FIELD]
