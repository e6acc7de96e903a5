"""Rows that somebody works on: leased to one at a time, kept alive, finished once, handed on when the holder is gone.

Whoever lost a lease changes nothing any more, so what is done twice is written once.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sqlalchemy import Table as SqlTable
from sqlalchemy import inspect, select, update
from sqlalchemy.orm import Session

from segarena_server.db.orm_models import Job, Turn

LeasedTable: TypeAlias = type[Turn] | type[Job]
RowKey: TypeAlias = tuple[Any, ...]
"""The primary key of a row."""


def lease_row(row: Turn | Job, lease: str) -> None:
    """Lease a row that waits."""
    row.state = "leased"
    row.lease = lease
    row.beats = 0
    row.tries = row.tries + 1


def renew_lease(
    session: Session, table: LeasedTable, key: RowKey, lease: str, **values: object
) -> bool:
    """Say that a lease is alive; False when it is lost."""
    return _change(session, table, key, lease, beats=table.beats + 1, **values)


def finish_row(
    session: Session, table: LeasedTable, key: RowKey, lease: str, **values: object
) -> bool:
    """Write what came of a row, and give the lease up; False, and nothing is written, when the lease was lost."""
    return _change(session, table, key, lease, **values, lease="")


def release_row(session: Session, table: LeasedTable, key: RowKey, lease: str) -> None:
    """Let a row wait again that was not worked on to an end by no fault of its own: that is no try of it."""
    _change(session, table, key, lease, state="waiting", lease="", tries=table.tries - 1)


def fail_attempt(
    session: Session, table: LeasedTable, key: RowKey, lease: str, *, most_tries: int, why: str
) -> str:
    """Take a lease from whoever has it; return the new state, waiting or dead, and "" when they have it no more."""
    row = session.get(table, key, with_for_update=True)
    if row is None or row.lease != lease or row.state != "leased":
        return ""
    row.lease = ""
    row.failure = why
    row.state = "waiting" if row.tries < most_tries else "dead"
    return row.state


def active_leases(session: Session, table: LeasedTable) -> dict[RowKey, tuple[str, int]]:
    """Return the leases that are held, with their beats."""
    rows = session.execute(
        select(*_key(table).columns, table.lease, table.beats).where(table.state == "leased")
    )
    return {tuple(key): (lease, beats) for *key, lease, beats in rows}


def _change(
    session: Session, table: LeasedTable, key: RowKey, held_by: str, **values: object
) -> bool:
    is_it = [column == value for column, value in zip(_key(table).columns, key, strict=True)]
    changed = update(table).where(*is_it, table.lease == held_by).values(**values)
    return bool(session.connection().execute(changed).rowcount)


def _key(table: LeasedTable) -> Any:
    mapped: SqlTable = inspect(table).local_table  # pyright: ignore[reportAssignmentType]
    return mapped.primary_key
