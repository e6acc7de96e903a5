"""Cache of the entry points, plug-ins, commands and help texts that installed packages declare.

Importing every package only to read names takes a second or more. A cached value is valid while the code of all
packages that extend segarena has the same files, sizes and times, and the same packages are installed.

Each command reads this cache first. Modules that are needed only to fill it are therefore imported
when that happens.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from segarena.errors import SegarenaError
from segarena.files.cache_folder import cache_folder

_ENTRY_POINTS = "entry_points"
"""Name under which the entry points are cached."""
_GROUP_PREFIX = "segarena."
_METADATA_SUFFIXES = (".dist-info", ".egg-info")
"""Suffixes of the folders with the metadata of a package."""
_MAX_BYTES = 8 << 20
"""Limit of a cached file; ours take about 100 kB."""


class DeclaredEntryPoint(NamedTuple):
    """An entry point of an installed package, such as `mine = "my_package.commands:app"`."""

    name: str
    value: str

    def load(self) -> Any:
        """Import the module; return the object that is named in it, or the module if none is."""
        module_name, _, attribute = self.value.partition(":")
        module = importlib.import_module(module_name.strip())
        if not attribute:
            return module
        # An extra in brackets may follow the attribute.
        return attrgetter(attribute.partition("[")[0].strip())(module)


def declared_entry_points(group: str) -> tuple[DeclaredEntryPoint, ...]:
    """Return the entry points of a group, sorted by name."""
    return _entry_points().get(group, ())


@cache
def _entry_points() -> Mapping[str, tuple[DeclaredEntryPoint, ...]]:
    """Return the entry points of all of segarena's groups, from the cache unless packages were installed or removed."""
    state = _packages_state()
    # A stored value of another form was not written by this module.
    with suppress(AttributeError, TypeError, ValueError):
        return _named(_read(_ENTRY_POINTS, state))
    found = _read_entry_points()
    _write(_ENTRY_POINTS, state, found)
    return _named(found)


def _named(by_group: Any) -> dict[str, tuple[DeclaredEntryPoint, ...]]:
    found: dict[str, tuple[DeclaredEntryPoint, ...]] = {}
    for group, points in by_group.items():
        found[group] = tuple(DeclaredEntryPoint(str(name), str(value)) for name, value in points)
    return found


def _read_entry_points() -> dict[str, Sequence[tuple[str, str]]]:
    # Its parser of metadata takes as long to import as the rest of this module.
    from importlib.metadata import entry_points

    installed = entry_points()
    found: dict[str, Sequence[tuple[str, str]]] = {}
    for group in installed.groups:
        if group.startswith(_GROUP_PREFIX):
            points = installed.select(group=group)
            found[group] = sorted((point.name, point.value) for point in points)
    return found


def read_declarations(name: str) -> Any:
    """Return the JSON value stored under `name` for the installed code; None if there is none."""
    return _read(name, installed_state())


def write_declarations(name: str, value: Any) -> None:
    """Store a JSON value under `name` for the installed code; do nothing if the cache cannot be written."""
    _write(name, installed_state(), value)


def _read(name: str, state: str) -> Any:
    """Return the value stored under `name` for a state; None if there is none."""
    file = _file(name)
    try:
        if file.stat().st_size > _MAX_BYTES:
            return None
        stored = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not state or not isinstance(stored, dict) or stored.get("state") != state:
        return None
    return stored.get("value")


def _write(name: str, state: str, value: Any) -> None:
    from segarena.files.atomic_write import write_atomic

    if state:
        with suppress(OSError, SegarenaError):
            write_atomic(_file(name), json.dumps({"state": state, "value": value}))


@cache
def _packages_state() -> str:
    """Return a hash that changes when packages are installed or removed, or declare other entry points."""
    digest = hashlib.sha256(sys.version.encode())
    for folder in sys.path:
        # Python takes "" for the current folder.
        with suppress(OSError):
            for line in _metadata_states(folder or "."):
                digest.update(f"{line}\n".encode())
    return digest.hexdigest()


def _metadata_states(folder: str) -> Iterator[str]:
    """Yield the state of the metadata of each package in a folder; for a zip archive, that of the archive."""
    if os.path.isfile(folder):  # noqa: PTH113 -- faster
        yield f"{folder} {Path(folder).stat().st_mtime_ns}"
        return
    # Installing or removing any package changes its site folder; other folders change all the time.
    if Path(folder).name in ("site-packages", "dist-packages"):
        yield f"{folder} {Path(folder).stat().st_mtime_ns}"
    with os.scandir(folder) as entries:
        paths = sorted(entry.path for entry in entries if entry.name.endswith(_METADATA_SUFFIXES))
    for path in paths:
        time_ns = 0
        with suppress(OSError):
            time_ns = os.stat(f"{path}/entry_points.txt").st_mtime_ns  # noqa: PTH116 -- faster
        yield f"{path} {time_ns}"


@cache
def installed_state() -> str:
    """Return a hash of the names, sizes and times of all files whose code may declare plug-ins, commands or help.

    The hash is "", and nothing is cached, if the files cannot be listed, such as those of packages in a zip archive or
    of an editable installation whose folder was moved.

    It is computed once per process, before plug-ins are imported: code that changes later gets another state in the
    next process.
    """
    digest = hashlib.sha256(_packages_state().encode())
    try:
        for path, size, time_ns in sorted(_source_states()):
            digest.update(f"{path} {size} {time_ns}\n".encode())
    except (OSError, ValueError, ImportError):
        return ""
    return digest.hexdigest()


def _source_states() -> Iterator[tuple[str, int, int]]:
    """Yield (path, size, time) of the .py and .toml files of segarena and of packages with one of our entry points."""
    packages = {"segarena"}
    for points in _entry_points().values():
        for point in points:
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
