"""Columns of foreign CSV tables, as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from segarena.errors import InvalidInput
from segarena.files.limits import check_voxels


def read_columns(path: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> pl.DataFrame:
    """Return columns of a CSV file, all as text; empty cells and missing optional columns are null.

    Raises:
        InvalidInput: the file is no CSV in UTF-8, lacks a column, or has more cells than
            `files.limits` allows.
    """
    if not path.is_file():
        raise InvalidInput(f"{path}: expected a table in CSV, found no file")
    try:
        header = pl.read_csv(path, n_rows=0, infer_schema=False).columns
        missing = [name for name in columns if name not in header]
        if missing:
            raise InvalidInput(
                f"{path}: expected the columns {', '.join(columns)}; {', '.join(missing)} is missing"
            )
        rows = pl.scan_csv(path, infer_schema=False, glob=False)
        rows = rows.select(*columns, *(name for name in optional if name in header))
        check_voxels(rows.select(pl.len()).collect().item() * len(rows.collect_schema()), path)
        absent = [pl.lit(None, pl.String).alias(name) for name in optional if name not in header]
        return rows.collect().with_columns(*absent)
    except pl.exceptions.PolarsError as error:
        raise InvalidInput(
            f"{path}: expected a table in CSV, got: {str(error).splitlines()[0]}"
        ) from error
