"""Backup of a server's data folder while the server runs; the copy is itself a data folder.

The database is copied first. The files that it refers to were written earlier and never change, so
the copy contains everything acknowledged when the backup began. Files of later turns may be copied
too; the next evaluation rewrites them.
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
"""Name of the PostgreSQL dump in the copy, for `pg_restore`."""


def back_up(
    data: Path,
    to: Path,
    db: str = "",
) -> None:
    """Copy the data folder of a server that may be running.

    Args:
        data: the data folder.
        to: path of the copy, which must not exist.
        db: address of the database; "" for the file in the folder.

    Raises:
        InvalidInput: `to` exists, or `data` has no database file.
        StoreError: the folder is unreadable, or the copy cannot be written.
    """
    folder = DataFolder(data)
    if to.exists():
        raise InvalidInput(f"{to} already exists; name a new path")
    if not (db or folder.database.is_file()):
        raise InvalidInput(
            f"{folder.path} has no {folder.database.name}; name the database of the server with --db"
        )
    try:
        with atomic_path(to) as part:
            part.mkdir(mode=0o700)
            # The database comes first: files are stored before rows refer to them, so none of those
            # files is missing.
            if db:
                _dump_database(db, part / DUMP)
            else:
                _copy_database(folder.database, part / folder.database.name)
            for path in folder.path.iterdir():
                # Images and exports are caches, which the server can create again.
                if path in (folder.pictures, folder.exports.folder):
                    continue
                if path.is_dir():
                    shutil.copytree(path, part / path.name, ignore=_leftovers)
                # Besides the database itself, these are its write-ahead log and shared memory,
                # which the copy must not have.
                elif not path.name.startswith(folder.database.name):
                    shutil.copy2(path, part / path.name)
    except (sqlite3.Error, shutil.Error) as error:
        raise StoreError(f"{data} cannot be copied to {to}: {error}") from error


def _copy_database(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as live, closing(sqlite3.connect(target)) as copy:
        # SQLite's backup API yields a consistent state while the server writes; copying the file
        # would not.
        live.backup(copy)


def _dump_database(address: str, target: Path) -> None:
    """Dump a consistent snapshot of a PostgreSQL database with pg_dump."""
    url = make_url(address)
    socket = url.query.get("unix_sock")
    host = str(Path(str(socket)).parent) if socket else url.host
    options = {"-h": host, "-p": url.port, "-U": url.username, "-d": url.database}
    arguments: list[str] = []
    for option, value in options.items():
        if value:
            arguments += [option, str(value)]
    environment = dict(os.environ)
    if url.password:
        # In the environment, because other users can read command lines.
        environment["PGPASSWORD"] = str(url.password)
    program = shutil.which("pg_dump")
    if program is None:
        raise StoreError(
            "pg_dump is not installed here; it comes with PostgreSQL's client programs"
        )
    command = [program, "--format=custom", f"--file={target}", *arguments]
    done = subprocess.run(  # noqa: S603 - options only
        command,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StoreError(f"pg_dump: {' '.join(done.stderr.split()) or done.returncode}")


def _leftovers(folder: str, names: list[str]) -> set[str]:
    """Return the files that are being written at the moment."""
    return {name for name in names if is_leftover(Path(folder) / name)}
