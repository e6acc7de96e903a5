"""The schema of the database: made, brought up to date, and refused when a later version of segarena made it."""

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

_LOCK = 5_273_946_125
"""Says to PostgreSQL what is locked: any number that nobody else uses."""
_MIGRATIONS = Path(__file__).parent / "migrations"


def bring_up_to_date(database: Database) -> str:
    """Make the tables, or change those of an earlier version; return the revision that they had before, "" for none.

    Raises:
        StoreError: a later version of segarena made them.
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
    """Return the revision that this version of segarena makes; None when it does not know `revision`, a later one's."""
    scripts = ScriptDirectory(str(_MIGRATIONS))
    known = {script.revision for script in scripts.walk_revisions()}
    return scripts.get_current_head() if not revision or revision in known else None


def migrate(database: Database, revision: str) -> None:
    """Bring the tables to a revision: "head", "base" or its name.

    Raises:
        InvalidInput: there is no such revision.
        StoreError: what they hold does not fit together.
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
        _without_references(connection),
        connection.begin(),
    ):
        if (
            not database.is_sqlite
        ):  # of servers that start at once one changes the tables, the others find it done
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
        (command.downgrade if is_down else command.upgrade)(config, revision)
        if database.is_sqlite and (
            lost := connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
        ):
            raise StoreError(
                f"{database.file}: {len(lost)} rows, e.g. of {lost[0][0]}, refer to what is not there"
            )


@contextmanager
def _without_references(connection: Connection) -> Generator[None]:
    """Let tables be made anew, as SQLite changes them: with foreign keys on, dropping the old one empties others.

    They can only be turned off before a transaction begins.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    connection.execution_options(writes=True)
    plain: Any = connection.connection.dbapi_connection
    plain.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        plain.execute("PRAGMA foreign_keys=ON")


def revision_of(database: Database) -> str:
    """Return the revision that the tables have; "" when there are none."""
    with database.reading() as session:
        return MigrationContext.configure(session.connection()).get_current_revision() or ""
