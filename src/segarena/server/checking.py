"""What is wrong with a server before it starts: its folder, its database, its samples and its challenges."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from segarena.errors import SegarenaError
from segarena.server.challenges import all_challenges, shown_of
from segarena.server.database import Database
from segarena.server.folder import DataFolder
from segarena.server.schema import revision_of
from segarena.server.settings import Settings


def faults_of(data: Path, settings: Settings) -> list[str]:
    """Return what is wrong, a line each; nothing is changed, and what is not there yet is no fault."""
    folder = DataFolder(data)
    if not folder.exists:
        return [] if not folder.path.exists() else _foreign(folder)
    try:
        folder.secret()
        database = Database(settings.db or folder.database)
        return [*_of_database(database), *_of_challenges(database), *map(str, folder.samples.damaged())]
    except SegarenaError as error:
        return [str(error)]


def _foreign(folder: DataFolder) -> list[str]:
    there = any(folder.path.iterdir())
    return [f"{folder.path} holds other files; name a new or empty folder"] if there else []


def _of_database(database: Database) -> Iterator[str]:
    if database.file is not None and database.file.is_file():
        with closing(sqlite3.connect(database.file)) as plain:
            found = plain.execute("PRAGMA integrity_check").fetchone()[0]
        if found != "ok":
            yield f"{database.file} is damaged ({found}); restore it from a backup"
    with database.reading():
        pass
    if not revision_of(database):
        yield "the database has no tables yet; the first start makes them"


def _of_challenges(database: Database) -> Iterator[str]:
    with database.reading() as session:
        challenges = all_challenges(session) if revision_of(database) else []
    for challenge in challenges:
        try:
            shown_of(challenge.description)
        except SegarenaError as error:
            yield f"challenge {challenge.slug} cannot be built: {error}"
