"""A backup of a server's folder, taken while it serves: the copy is a folder that can be served.

The database comes first. What it names lies in files that are written before it and never changed, so the copy has all
that was acknowledged when it began; files of later turns that come along are written again by the next evaluation.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from sqlalchemy.engine import make_url

from segarena.errors import InvalidInput, StoreError
from segarena.files.atomic_write import atomic_path, is_leftover
from segarena_server.storage.data_folder import DataFolder

DUMP = "segarena.dump"
"""A database of PostgreSQL in a copy, as `pg_restore` takes it."""


def back_up(data: Path, to: Path, db: str = "") -> None:
    """Copy the folder of a server that may be at work.

    Args:
        data: the folder.
        to: where the copy is made; nothing may be there.
        db: the address of the database; "" for the file in the folder.

    Raises:
        InvalidInput: there is something, or no server ever served `data` from a file.
        StoreError: it cannot be read or written.
    """
    folder = DataFolder(data)
    if to.exists():
        raise InvalidInput(f"{to} is there already; name a place where nothing is")
    if not (db or folder.database.is_file()):
        raise InvalidInput(
            f"{folder.path} has no {folder.database.name}; name the database of the server with --db"
        )
    try:
        with atomic_path(to) as part:
            part.mkdir(mode=0o700)
            if db:
                _dump_database(db, part / DUMP)
            else:
                _copy_database(folder.database, part / folder.database.name)
            for path in folder.path.iterdir():
                if path in (folder.pictures, folder.exports.folder):  # they are made again
                    continue
                if path.is_dir():
                    shutil.copytree(path, part / path.name, ignore=_leftovers)
                elif not path.name.startswith(folder.database.name):
                    shutil.copy2(path, part / path.name)
    except (sqlite3.Error, shutil.Error) as error:
        raise StoreError(f"{data} cannot be copied to {to}: {error}") from error


def _copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as live, closing(sqlite3.connect(target)) as copy:
        live.backup(copy)


def _dump_database(address: str, target: Path) -> None:
    """Have PostgreSQL's own program write a database down, as it is at one moment."""
    url = make_url(address)
    socket = url.query.get("unix_sock")
    host = str(Path(str(socket)).parent) if socket else url.host
    told = {"-h": host, "-p": url.port, "-U": url.username, "-d": url.database}
    words = [str(word) for option, value in told.items() if value for word in (option, value)]
    known = os.environ | ({"PGPASSWORD": str(url.password)} if url.password else {})
    program = shutil.which("pg_dump")
    if program is None:
        raise StoreError(
            "pg_dump is not installed here; it comes with PostgreSQL's client programs"
        )
    words = [program, "--format=custom", f"--file={target}", *words]
    done = subprocess.run(words, env=known, capture_output=True, text=True, check=False)  # noqa: S603 - options only
    if done.returncode:
        raise StoreError(f"pg_dump: {' '.join(done.stderr.split()) or done.returncode}")


def _leftovers(folder: str, names: list[str]) -> set[str]:
    """Return files that somebody is writing at this moment."""
    return {name for name in names if is_leftover(Path(folder) / name)}
