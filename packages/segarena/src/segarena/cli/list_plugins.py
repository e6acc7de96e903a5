"""`segarena list`: the available plug-ins, published tables and demos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
import typer

from segarena.errors import InvalidInput
from segarena.files.install_cache import read_declarations, write_declarations
from segarena.reports.cells import Column, ColumnKind
from segarena.reports.sheets import Sheet
from segarena.terminal.exit_codes import one_line_errors
from segarena.terminal.sheet_output import show_sheet

_SHEETS = "list"
"""Name under which the sheets of all kinds are stored."""


def list_plugins(
    kind: Annotated[
        str | None,
        typer.Argument(
            help="segmenters, users, metrics, datasets, benchmarks, click-models, tables or demos. [default: all]"
        ),
    ] = None,
) -> None:
    """List the installed plug-ins with their options and defaults.

    Write a plug-in as NAME or NAME(option=value, ...). A class in your own file works without installation:
    my_model.py:MyClass.
    """
    with one_line_errors():
        sheets, failures = _installed_sheets()
        wanted = [each for each in sheets if kind is None or kind.rstrip("s") == each]
        if not wanted:
            plurals = ", ".join(f"{each}s" for each in sheets)
            raise InvalidInput(f"unknown kind {kind!r}; expected one of {plurals}")
        for each in wanted:
            show_sheet(sheets[each])
        for line in failures:
            typer.secho(line, fg="yellow", err=True)


def _installed_sheets() -> tuple[Mapping[str, Sheet], Sequence[str]]:
    """Return the sheet of each kind, and messages about packages that cannot be imported.

    An earlier process may have stored the sheets; otherwise all packages are imported.
    """
    try:
        stored = msgspec.convert(read_declarations(_SHEETS), dict[str, _StoredSheet])
    except msgspec.ValidationError:
        stored = None
    if stored is not None:
        return {kind: sheet.as_sheet(kind) for kind, sheet in stored.items()}, ()
    # Imported here, because the module imports NumPy and reads every published table.
    from segarena.cli.plugin_sheets import all_sheets

    sheets, failures = all_sheets()
    if not failures:
        plain = {kind: _StoredSheet.of(sheet) for kind, sheet in sheets.items()}
        write_declarations(_SHEETS, msgspec.to_builtins(plain))
    return sheets, failures


class _StoredSheet(msgspec.Struct):
    """A sheet as it is cached: heading and kind of each column, and cells of text or numbers."""

    caption: str
    head: list[tuple[str, ColumnKind]]
    rows: list[list[str | int]]

    @classmethod
    def of(cls, sheet: Sheet) -> _StoredSheet:
        head: list[tuple[str, ColumnKind]] = [
            (column.heading, column.kind) for column in sheet.columns
        ]
        rows: list[list[Any]] = [list(row) for row in sheet.rows]
        return cls(caption=sheet.caption, head=head, rows=rows)

    def as_sheet(self, kind: str) -> Sheet:
        return Sheet(
            name=kind,
            caption=self.caption,
            head=tuple(Column(heading, column_kind) for heading, column_kind in self.head),
            rows=tuple(map(tuple, self.rows)),
        )
