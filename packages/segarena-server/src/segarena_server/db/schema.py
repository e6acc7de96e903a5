"""Migration of the database schema; a schema that this version of segarena does not know raises an error."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from segarena.errors import InvalidInput, StoreError
from segarena_server.db.database import Database

_ADVISORY_LOCK = 5_273_946_125
"""Identifier of the PostgreSQL advisory lock; an arbitrary number that nothing else uses."""
_MIGRATIONS = Path(__file__).parent / "migrations"
_MERGED_REVISIONS = frozenset(
    (
        "0001",
        "teams",
        "attempts",
        "ladder",
        "letters",
        "jobs",
        "shared",
        "submissions",
        "round_trip",
        "evaluated",
        "identities",
        "findings",
        "chosen",
        "drawing",
        "collecting",
    )
)
"""Revisions of the migrations that the baseline replaced; commit 7d4051f3 is the last one that has them."""


def bring_up_to_date(database: Database) -> str:
    """Create the tables, or migrate them to the newest revision.

    Returns:
        The former revision; "" if there were no tables.

    Raises:
        StoreError: the tables were created by a later version of segarena, or by one that is too old.
    """
    before = revision_of(database)
    known = {script.revision for script in ScriptDirectory(str(_MIGRATIONS)).walk_revisions()}
    if before and before not in known:
        raise StoreError(f"{database.file or 'the database'} {unknown_revision_text(before)}")
    migrate(database, "head")
    return before


def unknown_revision_text(revision: str) -> str:
    """Describe tables whose revision this version does not have: which version created them, and what to do."""
    if revision in _MERGED_REVISIONS:
        return (
            f"was created by a development version of segarena that is too old (its revision is {revision}): start "
            "the server of commit 7d4051f3 with it once, which migrates it to the revision 'turned', then start this "
            "version; or restore a backup"
        )
    return (
        f"was created by a later version of segarena (its revision is {revision}); "
        "install that version, or restore a backup"
    )


def newest_revision(revision: str) -> str | None:
    """Return this version's newest revision, or None if this version does not know `revision`."""
    scripts = ScriptDirectory(str(_MIGRATIONS))
    known = {script.revision for script in scripts.walk_revisions()}
    if revision and revision not in known:
        return None
    return scripts.get_current_head()


def migrate(database: Database, revision: str) -> None:
    """Migrate the tables up or down to a revision: "head", "base" or an identifier.

    Raises:
        InvalidInput: there is no such revision.
        StoreError: rows refer to missing rows after the migration.
    """
    before = revision_of(database) or "base"
    known = [script.revision for script in ScriptDirectory(str(_MIGRATIONS)).walk_revisions()]
    if revision not in ("head", "base", *known):
        raise InvalidInput(
            f"expected one of the revisions {', '.join(['base', *reversed(known)])}, got {revision[:40]!r}"
        )
    earlier = {
        script.revision
        for script in ScriptDirectory(str(_MIGRATIONS)).iterate_revisions(before, "base")
    }
    is_down = revision == "base" or revision in earlier - {before}
    with (
        database.engine.connect() as connection,
        _without_foreign_keys(connection),
        connection.begin(),
    ):
        # When several servers start together, one migrates while the others wait.
        if not database.is_sqlite:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})")
        config = Config(attributes={"connection": connection})
        # Alembic's configuration treats % as the start of an interpolation.
        config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
        if is_down:
            command.downgrade(config, revision)
        else:
            command.upgrade(config, revision)
        if database.is_sqlite:
            # With foreign keys disabled during the migration, nothing else would have noticed
            # broken references.
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
            if broken:
                table = broken[0][0]
                raise StoreError(
                    f"{database.file}: rows that refer to missing rows: {len(broken)}, for example in {table}; "
                    "restore the database from a backup"
                )


@contextmanager
def _without_foreign_keys(connection: Connection) -> Generator[None]:
    """Disable foreign keys while SQLite replaces a table, which would otherwise delete the rows that refer to it.

    SQLite only allows this change outside a transaction.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    connection.execution_options(writes=True)
    raw_connection: Any = connection.connection.dbapi_connection
    raw_connection.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        raw_connection.execute("PRAGMA foreign_keys=ON")


def revision_of(database: Database) -> str:
    """Return the revision of the tables, or "" if there are none."""
    with database.reading() as session:
        return MigrationContext.configure(session.connection()).get_current_revision() or ""
