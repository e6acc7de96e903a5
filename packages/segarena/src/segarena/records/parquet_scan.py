"""Reader of rows in Parquet files: verifies checksums, then scans many files at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, TypeAlias

import polars as pl

from segarena.errors import StoreError
from segarena.records.parquet_tables import concat_frames, type_fault, verify_seal

RETRY_HINT = "repeat the command of the run with --retry-damaged to run its samples again"

_BATCH_BYTES = 64 << 20
"""Total bytes of the files that are scanned at once."""

_DAMAGE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""Exceptions of Polars for a damaged file without a checksum."""

ColumnFilter: TypeAlias = Callable[[str], bool]
"""Function that returns whether to read a column."""


def read_small_files(
    table: str,
    files: Sequence[Path],
    is_read: ColumnFilter,
) -> Iterator[pl.DataFrame]:
    """Yield the rows of many files in batches, in file order; each file is read once and verified."""
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
    table: str,
    contents: Sequence[bytes],
    files: Sequence[Path],
    is_read: ColumnFilter,
) -> pl.DataFrame:
    """Return the rows of several files in one scan, which is much faster than one by one.

    If that fails (because a file of an earlier version is damaged, or has a column that the first
    file lacks), each half is scanned separately.
    """
    if len(files) == 1:
        return scan_file(table, contents[0], files[0], is_read)
    try:
        sources: list[IO[bytes]] = [BytesIO(data) for data in contents]
        scan = pl.scan_parquet(sources, missing_columns="insert")
        names = scan.collect_schema().names()
        frame = scan.select(filter(is_read, names)).collect()
    except _DAMAGE:
        frame = None
    if frame is not None and not type_fault(table, frame):
        return frame
    middle = len(files) // 2
    first_half = _scan_batch(table, contents[:middle], files[:middle], is_read)
    second_half = _scan_batch(table, contents[middle:], files[middle:], is_read)
    return concat_frames(table, [first_half, second_half])


def _read_verified(file: Path) -> bytes:
    """Return the bytes of a single-sample file after verifying their checksum."""
    # Verify before Polars reads them: a damaged file may kill the process or give wrong values.
    data = file.read_bytes()
    try:
        verify_seal(data)
    except ValueError as error:
        raise StoreError(f"{file} is damaged: {error}; {RETRY_HINT}") from error
    return data


def scan_file(
    table: str,
    source: Path | bytes,
    file: Path,
    is_read: ColumnFilter,
    samples: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Scan the rows of a file from its path or bytes; `file` names it in errors.

    With `samples`, rows about other samples are never in memory.

    Raises:
        StoreError: the file is not readable, or the type of a column differs from that in its
            table.
    """
    try:
        scan = pl.scan_parquet(source)
        names = scan.collect_schema().names()
        if "sample" not in names:
            raise StoreError(f"{file} is damaged (it has no column of samples); {RETRY_HINT}")
        if samples is not None:
            scan = scan.filter(pl.col("sample").is_in(samples))
        frame = scan.select(filter(is_read, names)).collect()
    except FileNotFoundError:
        raise
    except _DAMAGE as error:
        # Quote only the first line, because Polars adds the whole query to its message.
        first_line = str(error).splitlines()[0]
        raise StoreError(f"{file} is damaged ({first_line}); {RETRY_HINT}") from error
    fault = type_fault(table, frame)
    if fault:
        raise StoreError(f"{file}: {fault}; {RETRY_HINT}")
    return frame
