"""The schema of the database: made, brought up to date, and refused when a later version of segarena made it."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from segarena.errors import StoreError
from segarena.server.database import Database

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


def migrate(database: Database, revision: str) -> None:
    """Bring the tables to a revision: "head", "base" or its name."""
    with database.engine.connect() as connection:
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
        is_down = revision == "base"
        (command.downgrade if is_down else command.upgrade)(config, revision)
        connection.commit()


def revision_of(database: Database) -> str:
    """Return the revision that the tables have; "" when there are none."""
    with database.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision() or ""
