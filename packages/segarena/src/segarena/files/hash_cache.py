"""Hashes of many files: in parallel, and not again while size, times and inode of a file stay what they were."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from segarena.files.hashes import sha256_of_file

_THREADS = min(4, os.cpu_count() or 1)
_SETTLED_NS = 2_000_000_000
"""A file that changed later than this before it was read may change again within the same tick of its clock."""

_TABLE = "CREATE TABLE IF NOT EXISTS hashes (path TEXT PRIMARY KEY, state TEXT, sha256 TEXT)"


def cache_folder() -> Path:
    """Return the user's cache folder of segarena. It may be deleted at any time."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "segarena"


def cache_file() -> Path:
    """Return where hashes are remembered."""
    return cache_folder() / "hashes.sqlite"


def hashes_of_files(files: Sequence[Path]) -> list[str]:
    """Return the SHA-256 of each file; empty for one that cannot be read.

    What was read before is remembered by path, size, inode, and times of change to the nanosecond. A cache that cannot
    be used only costs time.
    """
    paths = [str(file.resolve()) for file in files]
    states = [_state(file) for file in files]
    known = _remembered(paths)
    missing = [
        i for i, path in enumerate(paths) if path not in known or known[path][0] != states[i]
    ]
    with ThreadPoolExecutor(_THREADS) as threads:
        made = dict(zip(missing, threads.map(_hash, [files[i] for i in missing]), strict=True))
    _remember(
        [(paths[i], states[i], made[i]) for i in missing if made[i] and _is_settled(files[i])]
    )
    return [made[i] if i in made else known[paths[i]][1] for i in range(len(paths))]


def files_below(path: Path) -> list[Path]:
    """Return a file itself; of a folder all files in it, in the order of their paths."""
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
    found = file.stat()
    return time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > _SETTLED_NS


def _remembered(paths: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return state and hash of those paths that are known; of all that were ever read there may be millions."""
    try:
        with closing(sqlite3.connect(f"file:{cache_file()}?mode=ro", uri=True)) as cache:
            rows = [
                cache.execute("SELECT * FROM hashes WHERE path = ?", (path,)).fetchone()
                for path in paths
            ]
    except sqlite3.Error:
        return {}
    return {path: (state, value) for path, state, value in filter(None, rows)}


def _remember(rows: Sequence[tuple[str, str, str]]) -> None:
    if not rows:
        return
    try:
        cache_file().parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(cache_file())) as cache, cache:
            cache.execute(_TABLE)
            cache.executemany("INSERT OR REPLACE INTO hashes VALUES (?, ?, ?)", rows)
    except sqlite3.DatabaseError:  # damaged; the next one makes it anew
        cache_file().unlink(missing_ok=True)
    except (OSError, sqlite3.Error):
        return
