"""The tables of a run folder: their columns, and frames and files of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import polars as pl

TABLES = ("parts", "masks", "timings", "records")
"""In the order of writing."""

ONLY_WITH_ROWS = ("parts",)
"""Tables that most runs have no use for."""

_ROUND: dict[str, Any] = {
    "sample": pl.String,
    "target": pl.String,
    "user": pl.String,
    "repeat": pl.Int32,
    "round": pl.Int32,
}
COLUMNS: dict[str, dict[str, Any]] = {
    "records": {
        "benchmark": pl.String,
        "dataset": pl.String,
        "sample": pl.String,
        "target": pl.String,
        "label": pl.String,
        "attributes": pl.String,
        "user": pl.String,
        "repeat": pl.Int32,
        "round": pl.Int32,
        "effort": pl.Float64,
        "prompts": pl.String,
        "failure": pl.String,
    },
    "timings": {**_ROUND, "predict_s": pl.Float64},
    "masks": {**_ROUND, "object": pl.Int32, "rle": pl.Binary, "shape": pl.List(pl.Int32)},
    "parts": {**_ROUND, "object": pl.Int32, "frame": pl.Int32},
}
"""Columns that metrics give stand beside these, as floats."""


def frame_of(table: str, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows as a typed frame; columns that only metrics know are floats, between the keys and `failure`."""
    known = COLUMNS[table]
    extra = {name: pl.Float64 for row in rows for name in row if name not in known}
    last = {name: known[name] for name in known if name == "failure"}
    schema = {**{name: kind for name, kind in known.items() if name not in last}, **extra, **last}
    return pl.DataFrame(rows, schema=schema)


def joined(table: str, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return frames of one table one below the other; a metric that some of them lack is null there."""
    return pl.concat(frames, how="diagonal") if frames else frame_of(table, [])


def parquet_of(frame: pl.DataFrame) -> bytes:
    """Return the bytes of a Parquet file; equal frames have equal bytes."""
    buffer = BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()
