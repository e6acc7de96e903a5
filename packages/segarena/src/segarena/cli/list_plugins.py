"""`segarena list`: which plug-ins there are."""

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
"""The published tables, which are data and no plug-ins."""


def list_plugins(
    kind: Annotated[
        str | None,
        typer.Argument(
            help="segmenters, users, metrics, datasets, benchmarks, click-models or tables. [default: all]"
        ),
    ] = None,
) -> None:
    """List the installed plug-ins with their options and defaults.

    A plug-in is written NAME or NAME(option=value, ...); a file of your own works without installation:
    my_model.py:MyClass.
    """
    with one_line_errors():
        there = (*plugin_kinds(), _TABLE)
        wanted = [known for known in there if kind is None or kind.rstrip("s") == known]
        if not wanted:
            raise InvalidInput(
                f"unknown kind {kind!r}; expected one of {', '.join(known + 's' for known in there)}"
            )
        if _TABLE in wanted:
            wanted.remove(_TABLE)
            _show_tables()
        for known in wanted:
            columns = {"what it is": _what, **_ABILITIES.get(known, {}), "options": format_options}
            plugins = plugins_by_name(known).items()
            rows = tuple(
                (name, *(tell(factory) for tell in columns.values())) for name, factory in plugins
            )
            Console().print(
                sheet_rows(
                    Sheet(name=known, caption=f"{known}s", head=("name", *columns), rows=rows)
                ),
                "",
            )
        for line in import_errors():
            typer.secho(line, fg="yellow", err=True)


def _show_tables() -> None:
    """Show the published tables: what each has, and where it is from."""
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
            _how(one),
        )
        for one in tables
    )
    head = (*head, "some absent", Column("measured by", "words"))
    show_sheet(Sheet(name=_TABLE, caption="tables of papers", head=head, rows=rows))
    for line in broken_tables():
        typer.secho(line, fg="yellow", err=True)


def _how(table: PublishedTable) -> str:
    """Say what measures a table."""
    can = any(measure.sheet for measure in table.measures.values())
    if table.measuring:
        return "segarena reproduce"
    return f"benchmark {table.benchmark}" if can and table.benchmark else "–"


def _what(factory: Callable[..., Any]) -> str:
    return (inspect.getdoc(factory) or "").split("\n", 1)[0]


def _takes(factory: Callable[..., Any]) -> str:
    """Say what samples and prompts a segmenter takes, as its class says it: models are not loaded for a list."""
    found = segmenter_capabilities(built_class(factory))
    takes = f"{_listed(found.sample_kinds)}: {_listed(found.prompt_kinds)}"
    return takes + "; SEES THE TRUTH" * found.sees_truth


def _needs(factory: Callable[..., Any]) -> str:
    """Say which options must be given, and what must be installed for networks, where it is not."""
    needed = [option.name for option in options_of(factory) if option.is_required]
    absent = "weights" in needed and not (find_spec("torch") and find_spec("transformers"))
    return (
        ", ".join([*needed, *(['pip install "segarena[models]"'] if absent else [])]) or "nothing"
    )


def _holds(factory: Callable[..., Any]) -> str:
    """Say what samples a dataset has, as its class says it."""
    kind = sample_kind(built_class(factory))
    return "unknown" if kind is None else _listed([kind])


def _gives(factory: Callable[..., Any]) -> str:
    """Say what prompts a user gives, built with its defaults where there are such."""
    plugin = built_class(factory)
    if not any(option.is_required for option in options_of(factory)):
        with suppress(Exception):  # another package's fault must not take the list away
            plugin = factory()
    found = user_capabilities(plugin)
    return _listed(found.prompt_kinds) + (", on several objects" if found.corrects_objects else "")


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
"""Of kinds with abilities to choose by: headings of columns, and what stands in them."""
