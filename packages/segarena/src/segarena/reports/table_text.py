"""Plain-text tables, for `print` and the Python prompt."""

from __future__ import annotations

from collections.abc import Sequence

from segarena.reports.cells import Cell, Column, Link, Value


def table_text(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> str:
    """Format a table as lines of text: names left-aligned, numbers with their intervals right-aligned."""
    lines = [[column.heading for column in columns]]
    for row in rows:
        lines.append([_cell_text(cell) for cell in row])
    widths: list[int] = []
    for cells in zip(*lines, strict=True):
        widths.append(max(len(text) for text in cells))
    printed: list[str] = []
    for line in lines:
        parts: list[str] = []
        for column, text, width in zip(columns, line, widths, strict=True):
            is_name = column.kind in ("text", "words")
            parts.append(text.ljust(width) if is_name else text.rjust(width))
        printed.append("  ".join(parts).rstrip())
    return "\n".join(printed)


def _cell_text(cell: Cell) -> str:
    match cell:
        case Value():
            return f"{cell.text} {cell.bounds}".strip()
        case Link():
            return cell.text
        case _:
            return str(cell)
