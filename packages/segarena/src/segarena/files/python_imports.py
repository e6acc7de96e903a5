"""Source files that a Python file depends on: itself, and its imports from the same folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def source_files(file: Path) -> list[Path]:
    """Return `file` and the modules and packages in its folder that it imports, also indirectly; sorted.

    Imports are read from the syntax tree without running code. A file that is not valid Python has
    no imports.
    """
    found: set[Path] = set()
    pending = [file.resolve()]
    while pending:
        current = pending.pop()
        if current in found:
            continue
        found.add(current)
        for folder in {current.parent, file.resolve().parent}:
            pending.extend(_imports(current, folder))
    return sorted(found)


def imported_names(file: Path) -> list[str]:
    """Return the dotted names that a file imports, relative ones without leading dots; [] if it is not valid Python."""
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
    """Yield the files in a folder that importing a dotted name reads; the last part need not be a module."""
    for count in range(1, len(parts) + 1):
        path = folder.joinpath(*parts[:count])
        for file in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
            if file.is_file():
                yield file
