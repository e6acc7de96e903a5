"""CSV renderer for tables, for use by programs."""

from __future__ import annotations

import csv
import io
import math

from segarena.reports.cells import Cell, Link, Value
from segarena.reports.sheets import Sheet


def sheet_csv(sheet: Sheet) -> str:
    """Render a table as CSV with the keys of the columns as header.

    A column of intervals becomes three: the mean and both bounds. Equal tables give equal bytes.
    """
    has_ends = [column.kind == "interval" for column in sheet.columns]
    header: list[str] = []
    for key, with_ends in zip(sheet.keys, has_ends, strict=True):
        header += _titles(key, with_ends)
    text = io.StringIO()
    # Write equal bytes on every system, so no carriage returns on Windows.
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for row in sheet.rows:
        texts: list[str] = []
        for cell, with_ends in zip(row, has_ends, strict=True):
            texts += _texts(cell, with_ends)
        writer.writerow(texts)
    return text.getvalue()


def _titles(key: str, has_ends: bool) -> list[str]:
    return [key, f"{key} low", f"{key} high"] if has_ends else [key]


def _texts(cell: Cell, has_ends: bool) -> list[str]:
    match cell:
        case Value():
            if has_ends:
                return [_number(cell.mean), _number(cell.low), _number(cell.high)]
            return [_number(cell.mean)]
        case Link():
            return [cell.text]
        case _:
            return [str(cell)]


def _number(value: float) -> str:
    """Format a number with six significant digits; empty for NaN."""
    return "" if math.isnan(value) else f"{value:.6g}"
