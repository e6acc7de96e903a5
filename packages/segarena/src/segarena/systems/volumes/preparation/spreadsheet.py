"""A sheet of numbers beside the volumes: .xlsx or .csv."""

from __future__ import annotations

import csv
import re
import struct
import zipfile
import zlib
from functools import reduce
from pathlib import Path

from segarena.errors import DatasetError, MissingExtra
from segarena.files.limits import check_pixels

_DAMAGE = (
    OSError,
    ValueError,
    EOFError,
    RuntimeError,
    csv.Error,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
)
MOST_CELLS = 5_000_000
_PLACE = re.compile(rb"""r\s*=\s*["']([A-Za-z]{0,3})(\d{1,9})["']""")


def read_spreadsheet(path: Path) -> list[list[str]]:
    """Return the cells of a .csv file, or of the first sheet of an .xlsx file, as texts; "" where empty.

    Raises:
        DatasetError: it cannot be read as such.
    """
    try:
        if path.suffix.lower() == ".csv":
            with path.open(encoding="utf-8-sig", newline="") as file:
                return [list(row) for row in csv.reader(file)]
        return _first_sheet(path)
    except _DAMAGE as error:
        raise DatasetError(
            f"{path}: expected a table as .csv or .xlsx, got: {error}; save it again"
        ) from error


def find_column(table: list[list[str]], name: str, *, group: str | None = None) -> list[str]:
    """Return a column below its name, in a table whose rows start below the row with "ID".

    Names are compared without case and spaces. `group` stands in the row above, over several columns; None takes the
    first column of that name.

    Raises:
        DatasetError: there is no such column.
    """
    header = next((at for at, row in enumerate(table) if "id" in map(_plain, row)), None)
    if header is None:
        raise DatasetError("expected a table with a column 'ID', found none")
    above = _filled(table[header - 1], len(table[header])) if header else []
    for at, found in enumerate(table[header]):
        stands_in = _plain(above[at]) if above else ""
        if _plain(found) == _plain(name) and (
            group is None or not above or stands_in == _plain(group)
        ):
            return [row[at] if at < len(row) else "" for row in table[header + 1 :]]
    where = f" below {group!r}" if group else ""
    raise DatasetError(
        f"expected a column {name!r}{where}, found {[cell for cell in table[header] if cell]}"
    )


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", text).lower()


def _filled(row: list[str], columns: int) -> list[str]:
    """Return a row in which a cell that spans several columns stands in each of them."""
    filled: list[str] = []
    for cell in [*row, *[""] * (columns - len(row))]:
        filled.append(cell or (filled[-1] if filled else ""))
    return filled


def _first_sheet(path: Path) -> list[list[str]]:
    # The catalogue of sets imports this module, and must be shown without the extra.
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise MissingExtra(
            f"reading spreadsheets needs {error.name}: pip install 'segarena[radiology]'"
        ) from error
    _check_workbook(path)
    try:
        sheet = CalamineWorkbook.from_path(path).get_sheet_by_index(0)
        # From the first row and column on, even where they are empty, so that columns stay below their groups.
        rows = sheet.to_python(skip_empty_area=False)
    except CalamineError as error:
        raise ValueError(error) from error
    except BaseException as error:
        if (
            type(error).__name__ == "PanicException"
        ):  # what compiled code in Rust raises, beside all exceptions
            raise ValueError(f"a damaged workbook ({error})") from error
        raise
    return [list(map(_text, row)) for row in rows]


def _check_workbook(path: Path) -> None:
    """Raise unless a workbook unpacks to little, whole, and its cells span a table that fits into memory."""
    with zipfile.ZipFile(path) as archive:
        check_pixels(sum(entry.file_size for entry in archive.infolist()), path)
        if (damaged := archive.testzip()) is not None:
            raise ValueError(f"damaged data in {damaged}")
        for entry in archive.infolist():
            if entry.filename.startswith("xl/worksheets/"):
                _check_span(archive.read(entry), path)


def _check_span(sheet: bytes, path: Path) -> None:
    """Raise unless the cells of a sheet span few: the reader makes a full table from A1 to the last of them."""
    columns = 1
    rows = 1
    for letters, number in _PLACE.findall(sheet):
        rows = max(rows, int(number))
        columns = max(
            columns, reduce(lambda count, letter: 26 * count + letter - 64, letters.upper(), 0)
        )
    if rows * columns > MOST_CELLS:
        raise ValueError(f"{rows:,} rows of {columns:,} columns, more than {MOST_CELLS:,} cells")


def _text(cell: object) -> str:
    """Return a cell as a text, whole numbers without a decimal point."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
