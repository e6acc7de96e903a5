"""`segarena list`: the available plug-ins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from rich.console import Console

from segarena.capabilities import (
    built_class,
    sample_kind,
    segmenter_capabilities,
    user_capabilities,
)
from segarena.errors import InvalidInput
from segarena.options import format_options, options_of
from segarena.published.table_registry import broken_tables, find_table, table_names
from segarena.published.table_types import PublishedTable
from segarena.registry import import_errors, plugin_kinds, plugins_by_name
from segarena.reports.cells import Column
from segarena.reports.renderers import sheet_rows
from segarena.reports.sheets import Sheet
from segarena.terminal.exit_codes import one_line_errors
from segarena.terminal.sheet_output import show_sheet

_TABLE = "table"
"""Published tables, which are listed although they are not plug-ins."""


def list_plugins(
    kind: Annotated[
        str | None,
        typer.Argument(
            help="segmenters, users, metrics, datasets, benchmarks, click-models or tables. [default: all]"
        ),
    ] = None,
) -> None:
    """List the installed plug-ins with their options and defaults.

    Write a plug-in as NAME or NAME(option=value, ...). A class in your own file works without installation:
    my_model.py:MyClass.
    """
    with one_line_errors():
        available = (*plugin_kinds(), _TABLE)
        wanted = [each for each in available if kind is None or kind.rstrip("s") == each]
        if not wanted:
            plurals = ", ".join(f"{each}s" for each in available)
            raise InvalidInput(f"unknown kind {kind!r}; expected one of {plurals}")
        if _TABLE in wanted:
            wanted.remove(_TABLE)
            _show_tables()
        for each in wanted:
            Console().print(sheet_rows(_plugin_sheet(each)), "")
        for line in import_errors():
            typer.secho(line, fg="yellow", err=True)


def _plugin_sheet(kind: str) -> Sheet:
    columns = {"what it is": _summary, **_ABILITIES.get(kind, {}), "options": format_options}
    rows: list[tuple[str, ...]] = []
    for name, factory in plugins_by_name(kind).items():
        cells = [describe(factory) for describe in columns.values()]
        rows.append((name, *cells))
    return Sheet(name=kind, caption=f"{kind}s", head=("name", *columns), rows=tuple(rows))


def _show_tables() -> None:
    """Print the published tables with their size and the command that measures them."""
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
    show_sheet(Sheet(name=_TABLE, caption="tables of papers", head=head, rows=rows))
    for line in broken_tables():
        typer.secho(line, fg="yellow", err=True)


def _measured_by(table: PublishedTable) -> str:
    """Return the command or benchmark that measures a table."""
    if table.measuring:
        return "segarena reproduce"
    is_reported = any(measure.sheet for measure in table.measures.values())
    return f"benchmark {table.benchmark}" if is_reported and table.benchmark else "–"


def _summary(factory: Callable[..., Any]) -> str:
    return (inspect.getdoc(factory) or "").split("\n", 1)[0]


def _takes(factory: Callable[..., Any]) -> str:
    """Return the samples and prompts that a segmenter accepts, from its class: loading models would be slow."""
    found = segmenter_capabilities(built_class(factory))
    takes = f"{_listed(found.sample_kinds)}: {_listed(found.prompt_kinds)}"
    return takes + "; SEES THE TRUTH" * found.sees_truth


def _needs(factory: Callable[..., Any]) -> str:
    """Return the required options, and the extra to install for networks if it is missing."""
    needed = [option.name for option in options_of(factory) if option.is_required]
    if "weights" in needed and not (find_spec("torch") and find_spec("transformers")):
        needed.append('pip install "segarena[models]"')
    return ", ".join(needed) or "nothing"


def _holds(factory: Callable[..., Any]) -> str:
    """Return the kind of samples of a dataset, from its class."""
    kind = sample_kind(built_class(factory))
    return "unknown" if kind is None else _listed([kind])


def _gives(factory: Callable[..., Any]) -> str:
    """Return the prompts that a user gives, built with its defaults if possible."""
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
"""Further columns by kind of plug-in: heading, and function for the cell."""
