"""Read the rows of Parquet files: verify checksums first, then scan many files at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

import polars as pl

from segarena.errors import StoreError
from segarena.records.parquet_tables import concat_frames, verify_seal

RETRY_HINT = "the command of the run with --retry-damaged makes its samples again"

_BATCH_BYTES = 64 << 20
"""Size of the files that are scanned at once."""

_DAMAGE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""Exceptions that Polars raises for a damaged file without a checksum."""

ColumnFilter: TypeAlias = Callable[[str], bool]
"""Returns whether to read a column."""


def read_small_files(
    table: str, files: Sequence[Path], is_read: ColumnFilter
) -> Iterator[pl.DataFrame]:
    """Yield the rows of many files in batches, in the order of the files; each is read once and verified."""
    contents: list[bytes] = []
    first = 0
    size_bytes = 0
    for stop, file in enumerate(files, 1):
        data = _read_verified(file)
        contents.append(data)
        size_bytes += len(data)
        if size_bytes > _BATCH_BYTES or stop == len(files):
            yield _scan_batch(table, contents, files[first:stop], is_read)
            contents = []
            first = stop
            size_bytes = 0


def _scan_batch(
    table: str, contents: Sequence[bytes], files: Sequence[Path], is_read: ColumnFilter
) -> pl.DataFrame:
    """Return the rows of several files in one scan, which is far quicker than one by one.

    If that fails (a file of an earlier version is damaged, or has a column that the first file lacks), each half is
    scanned alone.
    """
    if len(files) == 1:
        return scan_file(contents[0], files[0], is_read)
    try:
        scan = pl.scan_parquet(list(map(BytesIO, contents)), missing_columns="insert")
        return scan.select(filter(is_read, scan.collect_schema().names())).collect()
    except _DAMAGE:
        middle = len(files) // 2
        first_half = _scan_batch(table, contents[:middle], files[:middle], is_read)
        second_half = _scan_batch(table, contents[middle:], files[middle:], is_read)
        return concat_frames(table, [first_half, second_half])


def _read_verified(file: Path) -> bytes:
    """Return the bytes of a loose file, with their checksum verified."""
    # Before Polars sees them: a damaged file may make it end the process, or give other values.
    data = file.read_bytes()
    try:
        verify_seal(data)
    except ValueError as error:
        raise StoreError(f"{file} is damaged: {error}; {RETRY_HINT}") from error
    return data


def scan_file(source: Path | bytes, file: Path, is_read: ColumnFilter) -> pl.DataFrame:
    """Return the rows of a file from its path or bytes; `file` names it in errors."""
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
