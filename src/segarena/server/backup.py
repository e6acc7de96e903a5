"""A backup of a server's folder, taken while it serves: the copy is a folder that can be served.

The database comes first. What it names lies in files that are written before it and never changed, so the copy has all
that was acknowledged when it began; files of later turns that come along are written again by the next evaluation.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from segarena.errors import InvalidInput, StoreError
from segarena.files.whole import is_leftover, whole_path
from segarena.server.folder import DataFolder


def back_up(data: Path, to: Path) -> None:
    """Copy the folder of a server that may be at work.

    Args:
        data: the folder.
        to: where the copy is made; nothing may be there.

    Raises:
        InvalidInput: there is something, or no server ever served `data` from a file.
        StoreError: it cannot be read or written.
    """
    folder = DataFolder(data)
    if to.exists():
        raise InvalidInput(f"{to} is there already; name a place where nothing is")
    if not folder.database.is_file():
        raise InvalidInput(f"{folder.path} has no {folder.database.name}: a database elsewhere has a backup of its own")
    try:
        with whole_path(to) as part:
            part.mkdir(mode=0o700)
            _copy_database(folder.database, part / folder.database.name)
            for path in folder.path.iterdir():
                if path == folder.pictures:  # they are drawn again
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


def _leftovers(folder: str, names: list[str]) -> set[str]:
    """Return files that somebody is writing at this moment."""
    return {name for name in names if is_leftover(Path(folder) / name)}
