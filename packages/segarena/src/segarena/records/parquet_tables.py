"""Tables of a run folder: column types, data frames, and Parquet files with checksums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from itertools import chain
from typing import Any

import msgspec
import polars as pl

from segarena.files.hashes import sha256
from segarena.records.row_types import ROW_TYPES, Row

_SEAL = b"segarena-sha256:"
_DIGEST_BYTES = 32

_KINDS: Mapping[Any, Any] = {
    str: pl.String,
    str | None: pl.String,
    int: pl.Int32,
    float: pl.Float64,
    bytes: pl.Binary,
    tuple[int, ...]: pl.List(pl.Int32),
}
_VALUES = "values"


def _fixed_columns(row_type: type[Row]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for field in msgspec.structs.fields(row_type):
        if field.name != _VALUES:
            columns[field.name] = _KINDS[field.type]
    return columns


COLUMNS: Mapping[str, Mapping[str, Any]] = {
    table: _fixed_columns(row_type) for table, row_type in ROW_TYPES.items()
}
"""Types of the fixed columns by table. Metric columns, as floats, replace the field `values` of a row."""


_NUMBERLESS: tuple[Any, ...] = (pl.Null, pl.Boolean)
"""Types of a metric column without a number, in addition to the numeric types."""

NULLABLE = frozenset({"failure"})
"""Columns that may contain nulls."""


def type_fault(table: str, frame: pl.DataFrame) -> str:
    """Return a message about the first column of the wrong type; "" if there is none."""
    for name, found in frame.schema.items():
        if name in COLUMNS[table]:
            if not _has_fitting_type(table, frame, name):
                return f"expected the columns of {table}, got a column {name!r} of type {found}"
        elif not found.is_numeric() and found not in _NUMBERLESS:
            return f"expected numbers in column {name!r}, got {found}"
    return ""


def schema_fault(
    table: str,
    frame: pl.DataFrame,
    columns: Iterable[str],
) -> str:
    """Return the first fixed column that is missing, has another type, or has nulls, as text; "" if there is none."""
    for name in columns:
        if name not in COLUMNS[table]:
            continue
        if name not in frame.columns:
            return f"no column {name!r}"
        if not _has_fitting_type(table, frame, name):
            return f"a column {name!r} of type {frame.schema[name]}"
        if frame[name].null_count() and name not in NULLABLE:
            return f"a column {name!r} with nulls"
    return ""


def _has_fitting_type(table: str, frame: pl.DataFrame, name: str) -> bool:
    """Return whether a fixed column has the required type; integers may have any width."""
    kind = COLUMNS[table][name]
    found = frame.schema[name]
    if found == kind or (found.is_integer() and kind.is_integer()):
        return True
    # A column that contains only nulls may have any type.
    return name in NULLABLE and bool(frame[name].is_null().all())


def table_frame(table: str, rows: Sequence[Row]) -> pl.DataFrame:
    """Return the rows of one table as a typed data frame."""
    columns: dict[str, list[Any]] = {}
    kinds: dict[str, Any] = {}
    for name in ROW_TYPES[table].__struct_fields__:
        cells = [getattr(row, name) for row in rows]
        if name == _VALUES:
            # Failed rounds have no metrics, so the columns of rows differ.
            metrics = dict.fromkeys(chain.from_iterable(cells))
            for metric in metrics:
                columns[metric] = [values.get(metric) for values in cells]
                kinds[metric] = pl.Float64
        else:
            columns[name] = cells
            kinds[name] = COLUMNS[table][name]
    return pl.DataFrame(columns, schema=kinds)


def samples_frame(table: str, samples: Iterable[Sequence[Row]]) -> pl.DataFrame:
    """Return the rows of several samples, each with its rows of one table, as a typed data frame.

    The columns are those of `concat_frames` of a frame for each sample: if the first sample lacks a metric, its column
    comes last.
    """
    rows: list[Row] = []
    columns: dict[str, None] = {}
    fields = ROW_TYPES[table].__struct_fields__
    for own_rows in samples:
        rows.extend(own_rows)
        for name in fields:
            if name == _VALUES:
                cells: list[Mapping[str, Any]] = [getattr(row, name) for row in own_rows]
                columns.update(dict.fromkeys(chain.from_iterable(cells)))
            else:
                columns[name] = None
    frame = table_frame(table, rows)
    return frame.select(list(columns)) if columns else frame


def concat_frames(table: str, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate frames of one table; rows of frames that lack a metric column get nulls in it."""
    if not frames:
        return table_frame(table, [])
    # Relaxed, because files of earlier versions have other integer types.
    return pl.concat(frames, how="diagonal_relaxed")


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Serialize a frame as Parquet; equal frames give equal bytes."""
    buffer = BytesIO()
    # Omit statistics, because no reader of these small files needs them.
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def _footer_bytes(parquet: bytes) -> int:
    """Return the size of the footer, with its length in 4 bytes and the final "PAR1"."""
    return int.from_bytes(parquet[-8:-4], "little") + 8


def seal_parquet(parquet: bytes) -> bytes:
    """Return a Parquet file with its own SHA-256 inserted.

    The hash is stored in a gap between the last page and the footer. No reader visits the gap:
    pages are located from the start of the file, the footer from its end.
    """
    footer_bytes = _footer_bytes(parquet)
    pages = parquet[:-footer_bytes]
    footer = parquet[-footer_bytes:]
    digest = bytes.fromhex(sha256(parquet))
    return pages + _SEAL + digest + footer


def verify_seal(parquet: bytes) -> bool:
    """Verify the checksum of a file; return whether it has one, which files of earlier versions lack.

    Raises:
        ValueError: the checksum does not match.
    """
    seal_start = parquet.rfind(_SEAL)
    if seal_start < 0:
        return False
    digest_start = seal_start + len(_SEAL)
    digest_stop = digest_start + _DIGEST_BYTES
    digest = parquet[digest_start:digest_stop].hex()
    if sha256(parquet[:seal_start], parquet[digest_stop:]) != digest:
        raise ValueError("its SHA-256 does not match the stored one")
    return True


def seal_fault(parquet: bytes) -> str:
    """Return why a file is damaged; "" if it is not, or has no checksum, as in earlier versions."""
    try:
        verify_seal(parquet)
    except ValueError as error:
        return str(error)
    return ""
