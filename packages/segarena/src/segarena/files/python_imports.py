"""The source files that a Python file stands on: itself, and what it imports from beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def imported_beside(file: Path) -> list[Path]:
    """Return `file` and, at any depth, the modules and packages in its folder that it imports; in the order of paths.

    Imports are read from the text, nothing is run. A file that is no Python stands on nothing else.
    """
    found: set[Path] = set()
    pending = [file.resolve()]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += [
                beside
                for folder in {one.parent, file.resolve().parent}
                for beside in _imports(one, folder)
            ]
    return sorted(found)


def imported_names(file: Path) -> list[str]:
    """Return the dotted names that a Python file imports, relative ones without their dots; none if it is no Python."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = f"{node.module}." if node.module else ""
            names += [f"{start}{alias.name}" for alias in node.names]
    return names


def _imports(file: Path, folder: Path) -> Iterator[Path]:
    for name in imported_names(file):
        yield from _files_of(name.split("."), folder)


def _files_of(parts: list[str], folder: Path) -> Iterator[Path]:
    """Yield the files that importing a dotted name reads in a folder; its last part may be no module."""
    for count in range(1, len(parts) + 1):
        place = folder.joinpath(*parts[:count])
        for file in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
            if file.is_file():
                yield file
