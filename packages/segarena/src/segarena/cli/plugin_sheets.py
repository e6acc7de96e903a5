"""Sheets of `segarena list`: plug-ins by kind, published tables and demos."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from segarena.demos import NamedDemo, find_demos
from segarena.options import format_options, options_of
from segarena.plugin_capabilities import (
    built_class,
    sample_kind,
    segmenter_capabilities,
    user_capabilities,
)
from segarena.published.table_registry import broken_tables, find_table, table_names
from segarena.published.table_types import PublishedTable
from segarena.registry import import_errors, plugin_kinds, plugins_by_name
from segarena.reports.cells import Column
from segarena.reports.sheets import Sheet

TABLE = "table"
"""Name under which published tables are listed, although they are not plug-ins."""
DEMO = "demo"
"""Name under which demos are listed, although they are not plug-ins."""


def all_sheets() -> tuple[dict[str, Sheet], Sequence[str]]:
    """Return the sheet of each kind, and a message for everything that could not be imported.

    This imports all packages.
    """
    sheets = {kind: _plugin_sheet(kind) for kind in plugin_kinds()}
    sheets[TABLE] = _table_sheet()
    failures: list[str] = []
    sheets[DEMO] = _demo_sheet(failures)
    return sheets, (*import_errors(), *broken_tables(), *failures)


def _plugin_sheet(kind: str) -> Sheet:
    columns = {"what it is": _summary, **_ABILITIES.get(kind, {}), "options": format_options}
    rows: list[tuple[str, ...]] = []
    for name, factory in plugins_by_name(kind).items():
        cells = [describe(factory) for describe in columns.values()]
        rows.append((name, *cells))
    return Sheet(
        name=kind,
        caption=f"{kind}s",
        head=("name", *columns),
        rows=tuple(rows),
    )


def _table_sheet() -> Sheet:
    """Return the published tables with their size and the command that measures them."""
    tables = [find_table(name) for name in table_names()]
    head = (
        "name",
        Column("what it shows", "words"),
        Column("models", "number"),
        Column("figures", "number"),
    )
    rows = tuple(
        (
            one.name,
            one.title,
            len(one.model_names),
            len(one.figures),
            "yes" if one.absent else "",
            _measured_by(one),
        )
        for one in tables
    )
    head = (*head, "some absent", Column("measured by", "words"))
    return Sheet(
        name=TABLE,
        caption="tables of papers",
        head=head,
        rows=rows,
    )


def _demo_sheet(failures: list[str]) -> Sheet:
    """Return the demos with the command that uses each; add messages about broken ones to `failures`."""
    rows: list[tuple[str, ...]] = []
    for demo in find_demos(NamedDemo, failures.append):
        rows.append((demo.name, demo.summary, demo.command))
    head = ("name", Column("what it shows", "words"), Column("command", "words"))
    return Sheet(
        name=DEMO,
        caption="demos",
        head=head,
        rows=tuple(rows),
    )


def _measured_by(table: PublishedTable) -> str:
    """Return the command or benchmark that measures a table."""
    if table.measuring:
        return "segarena reproduce"
    is_reported = any(measure.sheet for measure in table.measures.values())
    return f"benchmark {table.benchmark}" if is_reported and table.benchmark else "–"


def _summary(factory: Callable[..., Any]) -> str:
    return (inspect.getdoc(factory) or "").split("\n", 1)[0]


def _takes(factory: Callable[..., Any]) -> str:
    """Return the samples and prompts that a segmenter accepts, read from its class, because loading models is slow."""
    found = segmenter_capabilities(built_class(factory))
    takes = f"{_listed(found.sample_kinds)}: {_listed(found.prompt_kinds)}"
    return takes + "; SEES THE TRUTH" * found.sees_truth


def _needs(factory: Callable[..., Any]) -> str:
    """Return the required options, and the extra to install if the network libraries are missing."""
    needed = [option.name for option in options_of(factory) if option.is_required]
    if "weights" in needed and not (find_spec("torch") and find_spec("transformers")):
        needed.append('pip install "segarena[models]"')
    return ", ".join(needed) or "nothing"


def _holds(factory: Callable[..., Any]) -> str:
    """Return the sample kind of a dataset, read from its class."""
    kind = sample_kind(built_class(factory))
    return "unknown" if kind is None else _listed([kind])


def _gives(factory: Callable[..., Any]) -> str:
    """Return the prompts that a user gives; the user is built with its defaults if possible."""
    plugin = built_class(factory)
    if not any(option.is_required for option in options_of(factory)):
        with suppress(Exception):  # an error of another package must not prevent the list
            plugin = factory()
    found = user_capabilities(plugin)
    kinds = _listed(found.prompt_kinds)
    return f"{kinds}, on several objects" if found.corrects_objects else kinds


def _listed(kinds: Iterable[str] | None) -> str:
    if kinds is None:
        return "any"
    return ", ".join(sorted(_WORDS.get(kind, kind) for kind in kinds))


_WORDS = {"image": "photograph", "support": "example"}

_ABILITIES: dict[str, dict[str, Callable[[Callable[..., Any]], str]]] = {
    "segmenter": {"takes": _takes, "needs": _needs},
    "user": {"gives": _gives},
    "dataset": {"holds": _holds, "needs": _needs},
}
"""Extra columns by kind of plug-in: heading, and function that returns the cell."""
