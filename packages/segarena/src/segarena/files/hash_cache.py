"""Cache of file hashes by path, valid while size, times and inode of a file are unchanged."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from segarena.files.cache_folder import cache_folder
from segarena.files.hashes import sha256_of_file

_THREADS = min(4, os.cpu_count() or 1)
_SETTLED_NS = 2_000_000_000
"""Hashes of files that changed less than this before reading are not stored, because file clocks are coarse."""

_TABLE = "CREATE TABLE IF NOT EXISTS hashes (path TEXT PRIMARY KEY, state TEXT, sha256 TEXT)"


def hash_cache_file() -> Path:
    """Return the SQLite file of the cache."""
    return cache_folder() / "hashes.sqlite"


def hash_files(files: Sequence[Path]) -> list[str]:
    """Return the SHA-256 of each file; "" for a file that cannot be read.

    Hashes are cached by path, size, inode, and the times of the last modification and status change
    in nanoseconds. If the cache is unusable, files are simply hashed again.
    """
    distinct = list(dict.fromkeys(files))
    # All samples of a dataset may share a large annotation file.
    if len(distinct) < len(files):
        digests = dict(zip(distinct, hash_files(distinct), strict=True))
        return [digests[file] for file in files]
    paths = [str(file.resolve()) for file in files]
    states = [_state(file) for file in files]
    cached = _read_cache(paths)
    hashes: dict[int, str] = {}
    missing: list[int] = []
    for index, path in enumerate(paths):
        state, sha256 = cached.get(path, ("", ""))
        if path in cached and state == states[index]:
            hashes[index] = sha256
        else:
            missing.append(index)
    # Threads help, because hashing releases the GIL and reading waits for the disk.
    with ThreadPoolExecutor(_THREADS) as threads:
        computed = threads.map(_hash, [files[index] for index in missing])
        hashes.update(zip(missing, computed, strict=True))
    rows: list[tuple[str, str, str]] = []
    for index in missing:
        # A file that is still being written could change again without a change of its size and
        # times.
        if hashes[index] and _is_settled(files[index]):
            rows.append((paths[index], states[index], hashes[index]))
    _write_cache(rows)
    return [hashes[index] for index in range(len(paths))]


def files_below(path: Path) -> list[Path]:
    """Return all files below a folder, sorted by path; if the path is a file, return only that file."""
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file())
    return [path]


def _hash(file: Path) -> str:
    try:
        return sha256_of_file(file)
    except OSError:
        return ""


def _state(file: Path) -> str:
    try:
        found = file.stat()
    except OSError:
        return ""
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"


def _is_settled(file: Path) -> bool:
    try:
        found = file.stat()
    except OSError:  # removed meanwhile
        return False
    return time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > _SETTLED_NS


def _read_cache(paths: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the stored file state and hash of the cached paths."""
    try:
        # Query path by path: the whole table may have millions of rows.
        with closing(sqlite3.connect(f"file:{hash_cache_file()}?mode=ro", uri=True)) as cache:
            rows = [
                cache.execute("SELECT * FROM hashes WHERE path = ?", (path,)).fetchone()
                for path in paths
            ]
    except sqlite3.Error:
        return {}
    return {path: (state, value) for path, state, value in filter(None, rows)}


def _write_cache(rows: Sequence[tuple[str, str, str]]) -> None:
    if not rows:
        return
    try:
        hash_cache_file().parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(hash_cache_file())) as cache, cache:
            cache.execute(_TABLE)
            cache.executemany("INSERT OR REPLACE INTO hashes VALUES (?, ?, ?)", rows)
    except sqlite3.OperationalError:  # locked by another process, or the disk is full
        return
    except sqlite3.DatabaseError:  # damaged; the next call creates it anew
        hash_cache_file().unlink(missing_ok=True)
    except (OSError, sqlite3.Error):
        return
