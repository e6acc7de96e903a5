"""Table of people's prompts as a Parquet file: one row per prompt, with its pointer samples as a list."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any, get_args

import msgspec
import polars as pl

from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.files.parquet import read_parquet
from segarena_people.prompts import PersonPrompt, PointerSample

_COLUMN_TYPES: dict[Any, Any] = {
    str: pl.String,
    int: pl.Int32,
    int | None: pl.Int32,
    float: pl.Float64,
    bool: pl.Boolean,
}


def _column_type(declared: Any) -> Any:
    if declared == tuple[PointerSample, ...]:
        return pl.List(pl.Struct(_schema(PointerSample)))
    return _COLUMN_TYPES.get(declared, pl.String)  # all other types are string literals


def _schema(of: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.name: _column_type(field.type) for field in msgspec.structs.fields(of)}


PROMPT_COLUMNS = _schema(PersonPrompt)
"""Columns with their types, in order."""

CATEGORICAL_COLUMNS: dict[str, tuple[Any, ...]] = {}
for field in msgspec.structs.fields(PersonPrompt):
    if field.type not in _COLUMN_TYPES and field.name != "points":
        CATEGORICAL_COLUMNS[field.name] = get_args(field.type)
"""Columns with a fixed set of string values."""

LATER_COLUMNS = {"group": "", "raster": "", "stroke_px": 0.0}
"""Columns that older tables lack, with the values to fill in."""


def build_prompt_frame(prompts: Iterable[PersonPrompt]) -> pl.DataFrame:
    """Build a frame with all columns from prompts."""
    rows = [msgspec.to_builtins(prompt) for prompt in prompts]
    return pl.DataFrame(rows, schema=PROMPT_COLUMNS, orient="row")


def write_prompt_table(prompts: Iterable[PersonPrompt], path: Path) -> None:
    """Write a table; the same prompts give the same bytes.

    Raises:
        StoreError: the file cannot be written.
    """
    write_atomic(path, encode_prompts(prompts))


def encode_prompts(prompts: Iterable[PersonPrompt]) -> bytes:
    """Encode prompts as the bytes of a table."""
    return encode_prompt_frame(build_prompt_frame(prompts))


def encode_prompt_frame(frame: pl.DataFrame) -> bytes:
    """Encode a frame as the bytes of a table."""
    buffer = BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def read_prompt_frame(path: Path) -> pl.DataFrame:
    """Read a table; keep extra columns, and add columns that older tables lack.

    Raises:
        InvalidInput: the file is missing or is not Parquet, or a column is missing or has the
            wrong type.
    """
    if not path.is_file():
        raise InvalidInput(f"{path}: expected a prompt table, but there is no such file")
    frame = read_parquet(path, error=InvalidInput)
    for name, value in LATER_COLUMNS.items():
        if name not in frame.columns:
            frame = frame.with_columns(pl.lit(value).alias(name))
    for name, kind in PROMPT_COLUMNS.items():
        if name not in frame.columns:
            raise InvalidInput(
                f"{path}: expected a table of people's prompts, but the column {name!r} is missing"
            )
        if frame.schema[name] != kind and not (frame.schema[name] == pl.Null and name == "plane"):
            raise InvalidInput(
                f"{path}: expected the column {name!r} to be {kind}, got {frame.schema[name]}"
            )
    return frame


def read_prompt_table(path: Path) -> list[PersonPrompt]:
    """Read the prompts in a file.

    Raises:
        InvalidInput: as for `read_prompt_frame`, or a row has an invalid value; see
            `segarena_people.prompt_checks` for further checks.
    """
    try:
        return msgspec.convert(
            read_prompt_frame(path).select(*PROMPT_COLUMNS).to_dicts(), list[PersonPrompt]
        )
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"{path}: {error}; `segarena people check-prompts` lists all problems"
        ) from error
