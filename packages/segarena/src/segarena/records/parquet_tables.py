"""The tables of a run folder: column types, data frames, and Parquet files with checksums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from itertools import chain
from typing import Any

import msgspec
import polars as pl

from segarena.files.hashes import sha256
from segarena.records.row_types import MaskRow, PartValues, PersonRound, RoundRecord, Row, Timing

_SEAL = b"segarena-sha256:"

TABLES = ("parts", "people", "masks", "timings", "records")
"""Names of the tables in the order of writing: records last, because they mark a sample as done."""

OPTIONAL_TABLES = ("parts", "people")
"""Tables without a file where they have no rows, as in most runs."""

ROW_TYPES: Mapping[str, type[Row]] = {
    "parts": PartValues,
    "people": PersonRound,
    "masks": MaskRow,
    "timings": Timing,
    "records": RoundRecord,
}

_KINDS: Mapping[Any, Any] = {
    str: pl.String,
    str | None: pl.String,
    int: pl.Int32,
    float: pl.Float64,
    bytes: pl.Binary,
    tuple[int, ...]: pl.List(pl.Int32),
}
_VALUES = "values"

COLUMNS: Mapping[str, Mapping[str, Any]] = {
    table: {
        field.name: _KINDS[field.type]
        for field in msgspec.structs.fields(row)
        if field.name != _VALUES
    }
    for table, row in ROW_TYPES.items()
}
"""Types of the fixed columns by table. Metric columns, as floats, replace the field `values` of a row."""


NULLABLE = frozenset({"failure"})
"""Columns with null values."""


def schema_fault(table: str, frame: pl.DataFrame, columns: Iterable[str]) -> str:
    """Return the first fault in the fixed columns of a table: missing, of another type, or with nulls; else ""."""
    for name in columns:
        kind = COLUMNS[table].get(name)
        if kind is None:
            continue
        if name not in frame.columns:
            return f"no column {name!r}"
        found = frame.schema[name]
        nulls = frame[name].null_count()
        is_fitting = found == kind or (found.is_integer() and kind.is_integer())
        # A column of nulls alone may have any type.
        is_all_null = name in NULLABLE and nulls == frame.height
        if not is_fitting and not is_all_null:
            return f"a column {name!r} of type {found}"
        if nulls and name not in NULLABLE:
            return f"a column {name!r} with gaps"
    return ""


def table_frame(table: str, rows: Sequence[Row]) -> pl.DataFrame:
    """Return the rows of one table as a typed data frame."""
    columns: dict[str, list[Any]] = {}
    kinds: dict[str, Any] = {}
    for name in ROW_TYPES[table].__struct_fields__:
        found = [getattr(row, name) for row in rows]
        if name == _VALUES:
            for metric in dict.fromkeys(chain.from_iterable(found)):
                columns[metric] = [values.get(metric) for values in found]
                kinds[metric] = pl.Float64
        else:
            columns[name] = found
            kinds[name] = COLUMNS[table][name]
    return pl.DataFrame(columns, schema=kinds)


def concat_frames(table: str, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the concatenated frames of one table; a metric column missing in some of them is null there."""
    return pl.concat(frames, how="diagonal") if frames else table_frame(table, [])


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return the bytes of a Parquet file; equal frames have equal bytes."""
    buffer = BytesIO()
    # Without statistics, which no reader of these small files needs.
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def seal_parquet(parquet: bytes) -> bytes:
    """Return a Parquet file with its own SHA-256 inserted.

    It is between the last page and the footer, where no reader looks: pages are found from the start of the file, the
    footer from its end.
    """
    # A Parquet file ends with the footer, its length in 4 bytes, and "PAR1".
    footer = int.from_bytes(parquet[-8:-4], "little") + 8
    return parquet[:-footer] + _SEAL + bytes.fromhex(sha256(parquet)) + parquet[-footer:]


def verify_seal(parquet: bytes) -> bool:
    """Return whether a file has a checksum; files of earlier versions have none.

    Raises:
        ValueError: the checksum does not match.
    """
    place = parquet.rfind(_SEAL)
    if place < 0:
        return False
    start = place + len(_SEAL)
    if sha256(parquet[:place], parquet[start + 32 :]) != parquet[start : start + 32].hex():
        raise ValueError("its SHA-256 is not the one in it")
    return True
