"""Files that are either whole or absent, even when the process is killed or the machine stops.

What is written lies under a temporary name in the same folder, is flushed to disk and then renamed; the folder is
flushed last, so that the new name outlives a power cut too. A writer that is killed leaves its temporary file behind;
`clear_leftovers` removes those once nobody else writes there.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from segarena.errors import StoreError, StoreUnavailable

_LEFTOVER = re.compile(r"\..*\.[0-9a-f]{8}\.part")
_LONGEST_NAME = 100
"""Characters of the final name kept in the temporary one, so that it stays within what file systems allow."""


def write_atomic(path: Path, data: bytes | str) -> Path:
    """Write `data` (text as UTF-8) to `path`; missing parent folders are made. Returns `path`.

    Raises:
        StoreError: the disk is full or the place cannot be written; what was at `path` before is still there.
    """
    with open_atomic(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return path


def write_if_absent(path: Path, data: bytes | str) -> bool:
    """Write `data` to `path` unless a file is there; return whether this call wrote it. Of several, one does.

    Raises:
        StoreError: as `write_atomic`; or the file system has no hard links.
    """
    part = path.with_name(f".{path.name[:_LONGEST_NAME]}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data.encode() if isinstance(data, str) else data)
        _flush(part)
        try:
            os.link(part, path)
        except FileExistsError:
            return (
                part.stat().st_nlink == 2
            )  # ours: only the answer of a network file system was lost
        _flush(path.parent)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        _remove(part)
    return True


@contextmanager
def open_atomic(path: Path) -> Generator[BinaryIO]:
    """Give a stream to write to; its content becomes `path` when the block ends without an error.

    Raises:
        StoreError: as `write_atomic`.
    """
    with atomic_path(path) as part, part.open("xb") as file:
        yield file


@contextmanager
def atomic_path(path: Path, *, ending: str = "") -> Generator[Path]:
    """Give a name to write to, for what is written by name or is a folder; it becomes `path` when the block ends.

    A folder replaces the folder that was there; it is absent for an instant in between.

    Args:
        path: the file or folder to be.
        ending: of the temporary name, for libraries that go by it.

    Raises:
        StoreError: as `write_atomic`.
    """
    part = _part_of(path, ending)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        _flush(part)
        if part.is_dir() and path.is_dir():
            shutil.rmtree(path)
        part.replace(path)
        _flush(path.parent)
    except OSError as error:
        if error.filename is not None and not _is_about(Path(error.filename), path, part):
            raise  # the caller's own trouble with another file
        raise write_error(path, error) from error
    finally:
        _remove(part)  # there only if something went wrong


def write_secret(path: Path, data: str) -> None:
    """Write `data` to `path` for its owner alone, unless something is there: of several at once the first one counts.

    Raises:
        OSError: as the operating system says.
    """
    part = _part_of(path)
    try:
        with open(
            os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
        ) as file:  # noqa: PTH123 - by its handle
            file.write(data)
        _flush(part)
        with suppress(FileExistsError):
            os.link(part, path)
        _flush(path.parent)
    finally:
        _remove(part)


def clear_leftovers(folder: Path) -> None:
    """Remove what killed writers left in `folder`; only for those who hold the folder, as a live writer's goes too."""
    for path in folder.glob(".*.part*"):
        if is_leftover(path):
            _remove(path)


def is_leftover(path: Path) -> bool:
    """Return whether a file has a temporary name: a killed writer left it, or a live one is at work."""
    return _LEFTOVER.match(path.name) is not None


def write_error(path: Path, error: OSError) -> StoreError:
    """Return the one line that says why `path` cannot be written."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    why = "the disk is full" if is_full else error.strerror or str(error)
    return (StoreUnavailable if is_full else StoreError)(
        f"{path} cannot be written: {why}. Make room or allow writing, and run it again: what is finished is kept"
    )


def _part_of(path: Path, ending: str = "") -> Path:
    return path.with_name(f".{path.name[:_LONGEST_NAME]}.{secrets.token_hex(4)}.part{ending}")


def _flush(path: Path) -> None:
    """Make sure that a file, a folder with its files, or the names in a folder are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_about(named: Path, path: Path, part: Path) -> bool:
    return named in (path, part) or named in path.parents or part in named.parents


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)
