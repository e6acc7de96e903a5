"""Leases on rows: which process works on a row, and whether that process is alive.

A row is leased to one process at a time. The process renews the lease regularly, writes the result
once, and releases the row if it cannot work on it. A process that has lost its lease can no longer
write, so the result of repeated work is written once.

No clock is compared with that of another machine. Each observer records, on its own monotonic
clock, when it first saw a renewal; a lease that has not been renewed for `lease_s` has expired. On
the same machine, the end of a process is detected at once.
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
"""Index of `starttime` among the fields of /proc/PID/stat after the command name; see proc(5)."""

LeaseKey = TypeVar("LeaseKey", bound=Hashable)


def new_lease() -> str:
    """Return the text of a new lease of this process; each lease is unique."""
    # The random part distinguishes leases of the same process, whose threads lease rows
    # concurrently.
    return _own_prefix() + secrets.token_hex(8)


def is_gone(lease: str, *, is_same_machine: bool = False) -> bool:
    """Return whether the process that a lease names has certainly ended.

    Args:
        lease: text of the lease.
        is_same_machine: whether all processes that share the rows are known to run on this machine. Then every lease
            from before its last restart belongs to a process that has ended.
    """
    # The system reuses process ids, so the start time is compared as well.
    machine, _, rest = lease.partition(":")
    process_id, _, started = rest.rpartition(":")[0].partition(":")
    if machine != _this_machine():
        return is_same_machine
    return not process_id.isdecimal() or _start_time(int(process_id)) != started


def is_mine(lease: str) -> bool:
    """Return whether this process created a lease."""
    return lease.startswith(_own_prefix())


class LeaseWatch(Generic[LeaseKey]):
    """Detects expired leases of other processes by the renewals that it observes.

    Args:
        lease_s: seconds without a renewal after which a lease has expired.
        clock: returns seconds; monotonic.
    """

    def __init__(self, lease_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lease_s = lease_s
        self._clock = clock
        self._last_change: dict[LeaseKey, tuple[tuple[str, int], float]] = {}

    def expired(self, leases: Mapping[LeaseKey, tuple[str, int]]) -> list[LeaseKey]:
        """Return the keys of expired leases, and forget all leases that are not in `leases`.

        Args:
            leases: text and number of renewals of each lease, by the key of its row.
        """
        now = self._clock()
        last_change: dict[LeaseKey, tuple[tuple[str, int], float]] = {}
        expired: list[LeaseKey] = []
        for key, lease in leases.items():
            known = self._last_change.get(key)
            # A renewal resets the time; so does a new lease on the same row.
            if known is None or known[0] != lease:
                known = (lease, now)
            last_change[key] = known
            if now - known[1] >= self._lease_s:
                expired.append(key)
        self._last_change = last_change
        return expired


def lease_row(row: Turn | Job, lease: str) -> None:
    """Lease a waiting row; this counts as an attempt."""
    row.state = "leased"
    row.lease = lease
    row.beats = 0
    row.tries = row.tries + 1


def renew_lease(
    session: Session,
    table: LeasedTable,
    key: RowKey,
    lease: str,
    **values: object,
) -> bool:
    """Renew a lease and write further columns; return False if the lease was lost."""
    return _update_leased(session, table, key, lease, beats=table.beats + 1, **values)


def finish_row(
    session: Session,
    table: LeasedTable,
    key: RowKey,
    lease: str,
    **values: object,
) -> bool:
    """Write the result of a row and end the lease; if the lease was lost, write nothing and return False."""
    return _update_leased(session, table, key, lease, **values, lease="")


def release_row(
    session: Session,
    table: LeasedTable,
    key: RowKey,
    lease: str,
) -> None:
    """Return a row to the queue after a failure that it did not cause; the attempt does not count."""
    _update_leased(session, table, key, lease, state="waiting", lease="", tries=table.tries - 1)


def fail_attempt(
    session: Session,
    table: LeasedTable,
    key: RowKey,
    lease: str,
    *,
    most_tries: int,
    why: str,
) -> str:
    """End a lease after a failed attempt.

    Returns:
        The new state: "waiting", or "dead" after the last attempt; "" if the row has another lease by now, or none.
    """
    # Locked, because the decision between "waiting" and "dead" depends on the number of attempts
    # read.
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
    query = select(*columns, table.lease, table.beats).where(table.state == "leased")
    leases: dict[RowKey, tuple[str, int]] = {}
    for *key, lease, beats in session.execute(query):
        leases[tuple(key)] = (lease, beats)
    return leases


def _update_leased(
    session: Session,
    table: LeasedTable,
    key: RowKey,
    held_lease: str,
    **values: object,
) -> bool:
    columns = _primary_key(table).columns
    is_row = [column == value for column, value in zip(columns, key, strict=True)]
    # One statement both checks the lease and writes, so that no other process can come between.
    statement = update(table).where(*is_row, table.lease == held_lease).values(**values)
    result = session.connection().execute(statement)
    return bool(result.rowcount)


def _primary_key(table: LeasedTable) -> Any:
    mapped: SqlTable = inspect(table).local_table  # pyright: ignore[reportAssignmentType]
    return mapped.primary_key


def _own_prefix() -> str:
    process_id = os.getpid()
    return f"{_this_machine()}:{process_id}:{_start_time(process_id)}:"


def _this_machine() -> str:
    """Return an identifier of this machine's boot and of the process namespace."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # Containers have their own process ids, so equal ids in two namespaces are different
        # processes.
        namespace = (_PROC / "self/ns/pid").readlink()
    except OSError:
        return "elsewhere"
    # Lease texts use the colon as a separator.
    return f"{boot}/{namespace}".replace(":", "")


def _start_time(process_id: int) -> str:
    """Return the start time of a process in clock ticks since boot, or "" if it does not exist."""
    try:
        stat = (_PROC / str(process_id) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The command name is in parentheses and may itself contain spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    # A zombie has ended; only its parent has not collected its exit status yet.
    is_zombie = fields[0] == "Z"
    return "" if is_zombie else fields[_START_TIME_FIELD]
