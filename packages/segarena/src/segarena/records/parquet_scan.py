"""Rows of Parquet files: looked at before Polars sees them, and read by as few scans as may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

import polars as pl

from segarena.errors import StoreError
from segarena.records.parquet_tables import concat_frames, verify_seal

RETRY_HINT = "the command of the run with --retry-damaged makes its samples again"

_AT_ONCE_BYTES = 64 << 20

_DAMAGE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What Polars raises over a damaged file that has no checksum."""

ColumnFilter: TypeAlias = Callable[[str], bool]
"""Whether a column is wanted."""


def read_small_files(
    table: str, files: Sequence[Path], is_read: ColumnFilter
) -> Iterator[pl.DataFrame]:
    """Yield the rows of many files, in their order, some of them at once: each is read once, checked, then parsed."""
    contents: list[bytes] = []
    first = size = 0
    for place, file in enumerate(files, 1):
        contents.append(_undamaged(file))
        size += len(contents[-1])
        if size > _AT_ONCE_BYTES or place == len(files):
            yield _parsed_at_once(table, contents, files[first:place], is_read)
            contents = []
            first = place
            size = 0


def _parsed_at_once(
    table: str, contents: Sequence[bytes], files: Sequence[Path], is_read: ColumnFilter
) -> pl.DataFrame:
    """Return the rows of files by one scan: one by one takes far longer.

    Where that cannot be done (a file of an earlier version is damaged, or one has a column that the first one lacks)
    each half is tried.
    """
    if len(files) == 1:
        return scan_file(contents[0], files[0], is_read)
    try:
        scan = pl.scan_parquet(list(map(BytesIO, contents)), missing_columns="insert")
        return scan.select(filter(is_read, scan.collect_schema().names())).collect()
    except _DAMAGE:
        middle = len(files) // 2
        halves = ((contents[:middle], files[:middle]), (contents[middle:], files[middle:]))
        return concat_frames(table, [_parsed_at_once(table, *half, is_read) for half in halves])


def _undamaged(file: Path) -> bytes:
    """Return the bytes of a loose file; over a damaged one Polars may end the process, or read other values."""
    data = file.read_bytes()
    try:
        verify_seal(data)
    except ValueError as error:
        raise StoreError(f"{file} is damaged: {error}; {RETRY_HINT}") from error
    return data


def scan_file(source: Path | bytes, file: Path, is_read: ColumnFilter) -> pl.DataFrame:
    """Return the rows of a file, from its bytes if they are there."""
    try:
        scan = pl.scan_parquet(source)
        names = scan.collect_schema().names()
        if "sample" not in names:
            raise StoreError(f"{file} is damaged (it has no column of samples); {RETRY_HINT}")
        return scan.select(filter(is_read, names)).collect()
    except FileNotFoundError:
        raise
    except _DAMAGE as error:
        raise StoreError(
            f"{file} is damaged ({str(error).splitlines()[0]}); {RETRY_HINT}"
        ) from error
