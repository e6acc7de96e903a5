"""Migration of the database schema; schemas of later versions of segarena are rejected."""

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
"""Identifier of the PostgreSQL advisory lock: any number that nothing else uses."""
_MIGRATIONS = Path(__file__).parent / "migrations"


def bring_up_to_date(database: Database) -> str:
    """Create the tables or migrate them to the newest revision.

    Returns:
        The former revision; "" when there were no tables.

    Raises:
        StoreError: the tables are of a later version of segarena.
    """
    before = revision_of(database)
    known = {script.revision for script in ScriptDirectory(str(_MIGRATIONS)).walk_revisions()}
    if before and before not in known:
        raise StoreError(
            f"{database.file or 'the database'} was made by a later version of segarena (its revision is {before}); "
            "install that version, or restore a backup"
        )
    migrate(database, "head")
    return before


def newest_revision(revision: str) -> str | None:
    """Return the newest revision of this version; None when `revision` is unknown, so of a later version."""
    scripts = ScriptDirectory(str(_MIGRATIONS))
    known = {script.revision for script in scripts.walk_revisions()}
    if revision and revision not in known:
        return None
    return scripts.get_current_head()


def migrate(database: Database, revision: str) -> None:
    """Migrate the tables up or down to a revision: "head", "base" or an identifier.

    Raises:
        InvalidInput: there is no such revision.
        StoreError: foreign keys in the tables are broken.
    """
    before = revision_of(database) or "base"
    known = [script.revision for script in ScriptDirectory(str(_MIGRATIONS)).walk_revisions()]
    if revision not in ("head", "base", *known):
        raise InvalidInput(
            f"expected a revision of {', '.join(['base', *reversed(known)])}, got {revision[:40]!r}"
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
        # Of servers that start together, one migrates while the others wait.
        if not database.is_sqlite:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})")
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
        if is_down:
            command.downgrade(config, revision)
        else:
            command.upgrade(config, revision)
        if database.is_sqlite:
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
            if broken:
                table = broken[0][0]
                raise StoreError(
                    f"{database.file}: {len(broken)} rows, e.g. of {table}, refer to missing rows; "
                    "restore the database from a backup"
                )


@contextmanager
def _without_foreign_keys(connection: Connection) -> Generator[None]:
    """Turn off foreign keys: SQLite changes a table by replacing it, which would delete rows that refer to it.

    Foreign keys can only be turned off before a transaction begins.
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
    """Return the revision of the tables; "" when there are none."""
    with database.reading() as session:
        return MigrationContext.configure(session.connection()).get_current_revision() or ""
