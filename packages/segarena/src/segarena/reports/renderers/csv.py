"""Tables as CSV for programs."""

from __future__ import annotations

import csv
import io
import math
from itertools import chain

from segarena.reports.cells import Cell, Link, Value
from segarena.reports.sheets import Sheet


def sheet_csv(sheet: Sheet) -> str:
    """Return a table as CSV with the keys of columns as header.

    A column of intervals becomes three: the mean and both ends. Equal tables give equal bytes.
    """
    has_ends = [column.kind == "interval" for column in sheet.columns]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(chain.from_iterable(map(_titles, sheet.keys, has_ends)))
    for row in sheet.rows:
        writer.writerow(chain.from_iterable(map(_texts, row, has_ends)))
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
    """Return a number with six significant digits; empty for NaN."""
    return "" if math.isnan(value) else f"{value:.6g}"
