"""Registry of published tables: tables of packages by name, and files of users."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from segarena.errors import PluginError, SegarenaError, UnknownPlugin
from segarena.options import suggest_names
from segarena.published.table_files import read_tables
from segarena.published.table_types import PublishedTable, TableMeasurer
from segarena.registry import import_entry_points

ENTRY_POINTS = "segarena.tables"
SUFFIX = ".toml"

_papers: dict[Path, Mapping[str, TableMeasurer]] = {}


def add_paper(path: Path, measuring: Mapping[str, TableMeasurer] | None = None) -> None:
    """Register the tables in a file as SYSTEM:NUMBER; the file is read at the first lookup.

    Args:
        path: path of the file; see `segarena.published.table_files`.
        measuring: functions that measure tables without a benchmark, by number.
    """
    _papers[path] = dict(measuring or {})
    _tables.cache_clear()


def table_names() -> tuple[str, ...]:
    """Return the names of all registered tables, paper by paper."""
    return tuple(_all())


def find_table(reference: str) -> PublishedTable:
    """Return a table by name, or from a file: `mine.toml`, or `mine.toml:NUMBER` if the file has several.

    Raises:
        UnknownPlugin: the table is unknown, or the file has several and the reference names none; the message
            suggests names.
        InvalidInput: the file is missing or invalid.
    """
    path, is_file, number = reference.rpartition(f"{SUFFIX}:")
    if is_file:
        return _from_file(Path(path + SUFFIX), number)
    if reference.endswith(SUFFIX):
        return _from_file(Path(reference), "")
    known = _all()
    if reference in known:
        return known[reference]
    system = reference.partition(":")[0]
    of_system = [name for name in known if name.startswith(f"{system}:")]
    if of_system:
        hint = f"{system} has {', '.join(of_system)}"
    else:
        hint = suggest_names(reference, known)
    problems = "".join(f"{problem}; " for problem in broken_tables())
    raise UnknownPlugin(
        f"{problems}there is no table {reference!r}; "
        f"{hint or 'segarena list tables shows all'}. A file works too: my_tables.toml"
    )


def broken_tables() -> tuple[str, ...]:
    """Return a line for each package or file whose tables cannot be read."""
    return (*import_entry_points(ENTRY_POINTS), *_tables()[1])


def _all() -> Mapping[str, PublishedTable]:
    import_entry_points(ENTRY_POINTS)
    return _tables()[0]


# Cached, because parsing the files of all papers takes longer than most commands; `add_paper`
# clears the cache.
@cache
def _tables() -> tuple[Mapping[str, PublishedTable], tuple[str, ...]]:
    """Return all registered tables by name, and the errors of files that cannot be read."""
    tables: dict[str, PublishedTable] = {}
    problems: list[str] = []
    for path, measuring in _papers.items():
        # An error in one file must not affect the tables of others.
        try:
            for table in read_tables(path, measuring).values():
                if table.name in tables:
                    raise PluginError(f"{path}: table {table.name} exists already; rename it")
                tables[table.name] = table
        except SegarenaError as error:
            problems.append(str(error))
    return tables, tuple(problems)


def _from_file(path: Path, number: str) -> PublishedTable:
    tables = read_tables(path)
    if number in tables:
        return tables[number]
    if not number and len(tables) == 1:
        return next(iter(tables.values()))
    wanted = f"no table {number!r}" if number else "several tables"
    choices = " or ".join(f"{path}:{known}" for known in tables)
    raise UnknownPlugin(f"{path} has {wanted}; write {choices}")
