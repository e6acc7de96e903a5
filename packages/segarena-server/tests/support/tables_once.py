"""Tables created once for all tests of a process, because running every migration takes longer than many tests."""

import shutil
from contextlib import contextmanager

import pytest

from segarena_server import server_process
from segarena_server.db.database import Database
from segarena_server.db.schema import bring_up_to_date, newest_revision, revision_of


@contextmanager
def tables_made_once(folder):
    """Create new database files as copies of one; yield the function that a starting server calls for this."""
    template = folder / "tables.sqlite"

    def begin(database):
        if database.is_sqlite and not database.file.exists():
            if not template.exists():
                first = Database(template)
                bring_up_to_date(first)
                first.close()
            shutil.copyfile(template, database.file)
            return ""
        before = revision_of(database)
        return before if before and before == newest_revision("") else bring_up_to_date(database)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_process, "bring_up_to_date", begin)
        yield begin
