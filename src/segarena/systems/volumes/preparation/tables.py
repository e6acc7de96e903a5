"""A sheet of numbers beside the volumes: .xlsx by the standard library, or .csv."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

from segarena.errors import DatasetError

_MOST_BYTES = 50_000_000


def read_table(path: Path) -> list[list[str]]:
    """Return the cells of a .csv file, or of the first sheet of an .xlsx file, as texts; "" where empty.

    Raises:
        DatasetError: it cannot be read as such.
    """
    try:
        if path.suffix.lower() == ".csv":
            with path.open(encoding="utf-8-sig", newline="") as file:
                return [list(row) for row in csv.reader(file)]
        with zipfile.ZipFile(path) as book:
            return _sheet(book)
    except (OSError, LookupError, ValueError, csv.Error, zipfile.BadZipFile, ET.ParseError, EOFError) as error:
        raise DatasetError(f"{path}: expected a table as .csv or .xlsx, got: {error}; save it again") from error


def column(table: list[list[str]], name: str, *, group: str | None = None) -> list[str]:
    """Return a column below its name, in a table whose rows start below the row with "ID".

    Args:
        table: rows of cells.
        name: in the row that contains "ID"; compared without case and spaces.
        group: in the row above, where one name stands over several columns; None takes the first column of that name.

    Raises:
        DatasetError: there is no such column.
    """
    header = next((at for at, row in enumerate(table) if "id" in map(_plain, row)), None)
    if header is None:
        raise DatasetError("expected a table with a column 'ID', found none")
    above = _filled(table[header - 1], len(table[header])) if header else []
    for at, found in enumerate(table[header]):
        stands_in = _plain(above[at]) if above else ""
        if _plain(found) == _plain(name) and (group is None or not above or stands_in == _plain(group)):
            return [row[at] if at < len(row) else "" for row in table[header + 1 :]]
    where = f" below {group!r}" if group else ""
    raise DatasetError(f"expected a column {name!r}{where}, found {[cell for cell in table[header] if cell]}")


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", text).lower()


def _filled(row: list[str], columns: int) -> list[str]:
    """Return a row in which a cell that spans several columns stands in each of them."""
    filled: list[str] = []
    for cell in [*row, *[""] * (columns - len(row))]:
        filled.append(cell or (filled[-1] if filled else ""))
    return filled


def _sheet(book: zipfile.ZipFile) -> list[list[str]]:
    names = book.namelist()
    shared = (
        [_text(item) for item in _part(book, "xl/sharedStrings.xml").iterfind("{*}si")]
        if ("xl/sharedStrings.xml" in names)
        else []
    )
    sheets = sorted(
        (name for name in names if re.fullmatch(r"xl/worksheets/sheet\d+\.xml", name)),
        key=lambda name: int(re.sub(r"\D", "", name)),
    )
    if not sheets:
        raise ValueError("no sheet in the workbook")
    rows: list[list[str]] = []
    for row in _part(book, sheets[0]).iterfind("{*}sheetData/{*}row"):
        number = int(row.get("r", len(rows) + 1))
        rows.extend([] for _ in range(len(rows), number - 1))
        rows.append(_cells(row, shared))
    return rows


def _cells(row: ET.Element, shared: list[str]) -> list[str]:
    cells: list[str] = []
    for cell in row.iterfind("{*}c"):
        at = _column_number(cell.get("r", "")) if cell.get("r") else len(cells)
        cells.extend("" for _ in range(len(cells), at))
        value = cell.findtext("{*}v", "")
        kind = cell.get("t")
        inline = cell.find("{*}is")
        cells.append(shared[int(value)] if kind == "s" else _text(inline) if inline is not None else value)
    return cells


def _column_number(reference: str) -> int:
    number = 0
    for letter in re.sub("[^A-Z].*", "", reference):
        number = number * 26 + ord(letter) - ord("A") + 1
    if not 0 < number <= 16384:
        raise ValueError(f"cell {reference!r}")
    return number - 1


def _text(element: ET.Element) -> str:
    return "".join(part.text or "" for part in element.iter() if part.tag.endswith("}t"))


def _part(book: zipfile.ZipFile, name: str) -> ET.Element:
    if book.getinfo(name).file_size > _MOST_BYTES:
        raise ValueError(f"{name} is larger than {_MOST_BYTES} bytes")
    text = book.read(name)
    if b"<!DOCTYPE" in text:
        raise ValueError(f"{name} has a document type")
    return ET.fromstring(text)  # noqa: S314 - entities need a document type, refused above
