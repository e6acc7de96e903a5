"""Reader of rows in files of pieces and samples: verifies checksums, then reads many files at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, TypeAlias

import msgspec
import polars as pl

from segarena.errors import StoreError
from segarena.records.parquet_tables import concat_frames, samples_frame, seal_fault, type_fault
from segarena.records.row_types import Row
from segarena.records.sample_file import RETRY_HINT, PackedSample, unpack_rows

_BATCH_BYTES = 64 << 20
"""Total bytes at which a batch of files ends; the files of a batch are scanned at once."""

_BATCH_FILES = 1024
"""Maximum number of files in a batch."""

_DAMAGE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""Exceptions of Polars for a damaged file without a checksum."""

ColumnFilter: TypeAlias = Callable[[str], bool]
"""Function that returns whether to read a column."""


def _batches(files: Iterable[Path]) -> Iterator[list[tuple[Path, bytes]]]:
    """Yield files with their verified contents, in batches of limited size."""
    batch: list[tuple[Path, bytes]] = []
    size_bytes = 0
    for file in files:
        data = _read_verified(file)
        batch.append((file, data))
        size_bytes += len(data)
        if size_bytes > _BATCH_BYTES or len(batch) == _BATCH_FILES:
            yield batch
            batch = []
            size_bytes = 0
    if batch:
        yield batch


def packed_frame(
    table: str,
    samples: Sequence[tuple[Path, PackedSample]],
    is_read: ColumnFilter,
) -> pl.DataFrame:
    """Return the rows of one table of packed samples.

    Raises:
        StoreError: the rows are not those of the table; the message names the file.
    """
    by_sample: list[list[Row]] = []
    for file, packed in samples:
        try:
            by_sample.append(unpack_rows(table, packed))
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise _damage_error(file, error) from error
    try:
        frame = samples_frame(table, by_sample)
    except (*_DAMAGE, OverflowError, TypeError, ValueError) as error:
        # Halve the samples, to name the file.
        if len(samples) == 1:
            raise _damage_error(samples[0][0], error) from error
        middle = len(samples) // 2
        first_half = packed_frame(table, samples[:middle], is_read)
        second_half = packed_frame(table, samples[middle:], is_read)
        return concat_frames(table, [first_half, second_half])
    return frame.select(filter(is_read, frame.columns))


def _damage_error(file: Path, error: Exception) -> StoreError:
    # Quote only the first line, because Polars adds the whole query to its message.
    first_line = (str(error).splitlines() or [type(error).__name__])[0]
    return StoreError(f"{file} is damaged ({first_line}); {RETRY_HINT}")


def read_small_files(
    table: str,
    files: Sequence[Path],
    is_read: ColumnFilter,
) -> Iterator[pl.DataFrame]:
    """Yield the rows of many files of one table in batches, in file order; each file is read once and verified."""
    for batch in _batches(files):
        contents = [data for _, data in batch]
        batch_files = [file for file, _ in batch]
        yield _scan_batch(table, contents, batch_files, is_read)


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
    fault = seal_fault(data)
    if fault:
        raise StoreError(f"{file} is damaged: {fault}; {RETRY_HINT}")
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
            # As a series, because Polars takes 80 ms for a list of 100 texts, and 2 ms for a series.
            wanted = pl.Series(samples, dtype=pl.String).implode()
            scan = scan.filter(pl.col("sample").is_in(wanted))
        frame = scan.select(filter(is_read, names)).collect()
    except FileNotFoundError:
        raise
    except _DAMAGE as error:
        raise _damage_error(file, error) from error
    fault = type_fault(table, frame)
    if fault:
        raise StoreError(f"{file}: {fault}; {RETRY_HINT}")
    return frame
