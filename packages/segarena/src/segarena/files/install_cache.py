"""Cache of the plug-ins, commands and help texts that installed packages declare.

Importing every package only to read names takes a second or more. A cached value is valid while the code of all
packages that extend segarena has the same files, sizes and times, and the same packages are installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from segarena.errors import SegarenaError
from segarena.files.atomic_write import write_atomic
from segarena.files.hash_cache import cache_folder

_GROUP_PREFIX = "segarena."
_MAX_BYTES = 8 << 20
"""Limit of a cached file; ours take about 100 kB."""


def read_declarations(name: str) -> Any:
    """Return the JSON value stored under `name` for the installed code; None if there is none."""
    file = _file(name)
    try:
        if file.stat().st_size > _MAX_BYTES:
            return None
        stored = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    state = installed_state()
    if not state or not isinstance(stored, dict) or stored.get("state") != state:
        return None
    return stored.get("value")


def write_declarations(name: str, value: Any) -> None:
    """Store a JSON value under `name` for the installed code; a folder that cannot be written only costs time."""
    state = installed_state()
    if state:
        with suppress(OSError, SegarenaError):
            write_atomic(_file(name), json.dumps({"state": state, "value": value}))


@cache
def installed_state() -> str:
    """Return a hash of the names, sizes and times of all files whose code may declare plug-ins, commands or help.

    The hash is "", and nothing is cached, if the files cannot be listed, such as those of packages in a zip archive or
    of an editable installation whose folder was moved.

    It is computed once per process, before plug-ins are imported: code that changes later gets another state in the
    next process.
    """
    digest = hashlib.sha256(sys.version.encode())
    for folder in sys.path:
        # Installing or removing any package changes its site folder; other folders change all the time.
        if Path(folder).name in ("site-packages", "dist-packages"):
            with suppress(OSError):
                digest.update(f"{folder} {Path(folder).stat().st_mtime_ns}\n".encode())
    try:
        for path, size, time_ns in sorted(_source_states()):
            digest.update(f"{path} {size} {time_ns}\n".encode())
    except (OSError, ValueError, ImportError):
        return ""
    return digest.hexdigest()


def _source_states() -> Iterator[tuple[str, int, int]]:
    """Yield (path, size, time) of the modules of segarena and of every package with one of our entry points."""
    packages = {"segarena"}
    installed = entry_points()
    for group in installed.groups:
        if group.startswith(_GROUP_PREFIX):
            for point in installed.select(group=group):
                packages.add(point.value.partition(":")[0].partition(".")[0])
    for package in sorted(packages):
        spec = importlib.util.find_spec(package)
        if spec is None:
            continue
        if spec.origin is not None:
            state = Path(spec.origin).stat()
            yield spec.origin, state.st_size, state.st_mtime_ns
        for folder in spec.submodule_search_locations or ():
            yield from _modules_in(folder)


def _modules_in(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _modules_in(entry.path)
            elif entry.name.endswith((".py", ".toml")):
                state = entry.stat()
                yield entry.path, state.st_size, state.st_mtime_ns


def _file(name: str) -> Path:
    # One file per environment, so that two environments of a user do not overwrite each other's.
    environment = hashlib.sha256(sys.prefix.encode()).hexdigest()[:12]
    return cache_folder() / "installed" / environment / f"{name}.json"
