"""Atomic writes: a file is complete or absent, even if the process is killed or the machine stops.

Data are written under a temporary name in the same folder, flushed to disk and then renamed. The
folder is flushed last, so that the new name survives a power failure too. A killed writer leaves
its temporary file behind; `clear_leftovers` removes such files while no other process writes to the
folder.
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
"""Length to which the final name is cut in the temporary name, because file systems allow 255 bytes."""


def write_atomic(
    path: Path,
    data: bytes | str,
    *,
    sync_folder: bool = True,
) -> Path:
    """Write `data` (text as UTF-8) to `path`, with missing parent folders, and return `path`.

    Args:
        path: the final path.
        data: the content.
        sync_folder: whether to flush the folder. Otherwise a killed process cannot lose the new name, but a power
            failure can, until the folder is flushed after a later write.

    Raises:
        StoreError: the disk is full or `path` cannot be written; a previous file at `path` is unchanged.
    """
    part = _part_of(path)
    try:
        with _create(part) as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        if sync_folder:
            _flush(path.parent)
    except BaseException as error:
        _remove(part)
        if isinstance(error, OSError):
            raise write_error(path, error) from error
        raise
    return path


def _create(part: Path) -> BinaryIO:
    """Create a file, and its parent folders if they are missing, and open it."""
    try:
        return part.open("xb")
    except (FileNotFoundError, NotADirectoryError):
        part.parent.mkdir(parents=True, exist_ok=True)
        return part.open("xb")


def write_if_absent(path: Path, data: bytes | str) -> bool:
    """Write `data` to `path` unless it exists; return whether it was written. Of concurrent calls, only one writes.

    Raises:
        StoreError: see `write_atomic`; also if the file system lacks hard links.
    """
    part = _part_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data.encode() if isinstance(data, str) else data)
        _flush(part)
        try:
            os.link(part, path)
        except FileExistsError:
            # Two links: this call created the file, and only the reply of a network file system was
            # lost.
            return part.stat().st_nlink == 2
        _flush(path.parent)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        _remove(part)
    return True


@contextmanager
def open_atomic(path: Path) -> Generator[BinaryIO]:
    """Open a stream whose content becomes `path` when the block ends without an error.

    Raises:
        StoreError: see `write_atomic`.
    """
    with atomic_path(path) as part, part.open("xb") as file:
        yield file


@contextmanager
def atomic_path(path: Path, *, ending: str = "") -> Generator[Path]:
    """Yield a temporary path for a file or folder; it is renamed to `path` when the block ends without an error.

    A folder replaces an existing folder; for an instant in between, there is none at `path`.

    Args:
        path: the final path.
        ending: suffix of the temporary name, for libraries that derive the format from it.

    Raises:
        StoreError: see `write_atomic`.
        OSError: the block failed on another file.
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
            raise  # the block failed on a file of its own
        raise write_error(path, error) from error
    finally:
        _remove(part)  # it still exists only after an error


def write_secret(path: Path, data: str) -> None:
    """Write `data` to `path`, readable only by its owner, unless it exists; the first of concurrent calls wins.

    Raises:
        OSError: any error of the operating system.
    """
    part = _part_of(path)
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(data)
        _flush(part)
        with suppress(FileExistsError):
            os.link(part, path)
        _flush(path.parent)
    finally:
        _remove(part)


def clear_leftovers(folder: Path) -> None:
    """Remove temporary files in a locked `folder`.

    The lock is necessary, because files of running writers are removed too.
    """
    for path in folder.glob(".*.part*"):
        if is_leftover(path):
            _remove(path)


def is_leftover(path: Path) -> bool:
    """Return whether a path is named like a temporary file, whose writer may still be alive."""
    return _LEFTOVER.match(path.name) is not None


def write_error(path: Path, error: OSError) -> StoreError:
    """Return a one-line error for a `path` that cannot be written, with the reason."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    reason = "the disk is full" if is_full else error.strerror or str(error)
    error_type = StoreUnavailable if is_full else StoreError
    return error_type(
        f"{path} cannot be written: {reason}. Free disk space or fix the permissions, and run it again: "
        "finished work is kept"
    )


def _part_of(path: Path, ending: str = "") -> Path:
    return path.with_name(f".{path.name[:_LONGEST_NAME]}.{secrets.token_hex(4)}.part{ending}")


def _flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_about(
    named: Path,
    path: Path,
    part: Path,
) -> bool:
    return named in (path, part) or named in path.parents or part in named.parents


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)
