"""Reader for the .xlsx or .csv spreadsheet that accompanies the volumes of a dataset."""

from __future__ import annotations

import csv
import lzma
import re
import struct
import zipfile
import zlib
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
    lzma.LZMAError,
    struct.error,
)
MOST_CELLS = 5_000_000
# A cell reference in the XML, such as r="AB12".
_CELL_REFERENCE = re.compile(rb"""r\s*=\s*["']([A-Za-z]{0,3})(\d{1,9})["']""")


def read_spreadsheet(path: Path) -> list[list[str]]:
    """Return the cells of a .csv file, or of the first sheet of an .xlsx file, as text; "" if empty.

    Raises:
        DatasetError: the file cannot be read as a table.
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


def find_column(
    table: list[list[str]],
    name: str,
    *,
    group: str | None = None,
) -> list[str]:
    """Return the cells of a column below its name; the header is the row that contains "ID".

    Names are compared without regard to case and spaces. `group` is a heading in the row above that
    spans several columns; None takes the first column called `name`.

    Raises:
        DatasetError: the column is missing.
    """
    header_row = _find_header(table)
    header = table[header_row]
    groups: list[str] = []
    if header_row:
        groups = _fill_spans(table[header_row - 1], len(header))
    for column, title in enumerate(header):
        # A spreadsheet may use one column name under several headings.
        is_in_group = group is None or not groups or _plain(groups[column]) == _plain(group)
        if _plain(title) == _plain(name) and is_in_group:
            rows = table[header_row + 1 :]
            return [row[column] if column < len(row) else "" for row in rows]
    where = f" below {group!r}" if group else ""
    titles = [title for title in header if title]
    raise DatasetError(f"expected a column {name!r}{where}, found {titles}")


def _find_header(table: list[list[str]]) -> int:
    for number, row in enumerate(table):
        if any(_plain(cell) == "id" for cell in row):
            return number
    raise DatasetError("expected a table with a column 'ID', found none")


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", text).lower()


def _fill_spans(row: list[str], columns: int) -> list[str]:
    """Return a row in which a cell that spans several columns is repeated in each of these columns."""
    filled: list[str] = []
    last = ""
    padding = [""] * (columns - len(row))
    for cell in [*row, *padding]:
        last = cell or last
        filled.append(last)
    return filled


def _first_sheet(path: Path) -> list[list[str]]:
    # The catalogue of datasets imports this module, and must work without the extra.
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise MissingExtra(
            f"reading spreadsheets needs {error.name}: pip install 'segarena[radiology]'"
        ) from error
    _check_workbook(path)
    try:
        sheet = CalamineWorkbook.from_path(path).get_sheet_by_index(0)
        # Reading starts at the first row and column even if they are empty, so that columns stay
        # below their headings.
        rows = sheet.to_python(skip_empty_area=False)
    except CalamineError as error:
        raise ValueError(error) from error
    except BaseException as error:
        # A panic of compiled Rust code is not a subclass of Exception and cannot be imported.
        if type(error).__name__ == "PanicException":
            raise ValueError(f"a damaged workbook ({error})") from error
        raise
    return [[_cell_text(cell) for cell in row] for row in rows]


def _check_workbook(path: Path) -> None:
    """Raise an error unless a workbook is undamaged, small when unpacked, and small enough for memory as a table."""
    with zipfile.ZipFile(path) as archive:
        unpacked_bytes = sum(entry.file_size for entry in archive.infolist())
        check_pixels(unpacked_bytes, path)
        damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"damaged data in {damaged}")
        for entry in archive.infolist():
            if entry.filename.startswith("xl/worksheets/"):
                _check_span(archive.read(entry))


def _check_span(sheet: bytes) -> None:
    """Raise an error if a sheet spans too large a table; the reader allocates all cells from A1 to the last one."""
    columns = 1
    rows = 1
    for letters, number in _CELL_REFERENCE.findall(sheet):
        rows = max(rows, int(number))
        columns = max(columns, _column_number(letters))
    if rows * columns > MOST_CELLS:
        raise ValueError(f"{rows:,} rows of {columns:,} columns, more than {MOST_CELLS:,} cells")


def _column_number(letters: bytes) -> int:
    """Return the 1-based index of a column from its letters: 1 for A, 27 for AA."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number


def _cell_text(cell: object) -> str:
    """Return a cell as text; whole numbers have no decimal point."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
