"""Text columns of third-party CSV tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from segarena.errors import InvalidInput
from segarena.files.limits import check_voxels


def read_columns(
    path: Path,
    columns: Sequence[str],
    optional: Sequence[str] = (),
) -> pl.DataFrame:
    """Read columns of a CSV file as text; empty cells and missing optional columns become null.

    Raises:
        InvalidInput: the file is not CSV in UTF-8, lacks a column, or has more cells than
            `files.limits` allows.
    """
    if not path.is_file():
        raise InvalidInput(f"{path}: expected a CSV table, found no file")
    try:
        header = pl.read_csv(path, n_rows=0, infer_schema=False).columns
        missing = [name for name in columns if name not in header]
        if missing:
            raise InvalidInput(
                f"{path}: expected the columns {', '.join(columns)}; missing: {', '.join(missing)}"
            )
        # Read everything as text: otherwise the first rows would determine the type of a column of
        # ids or of 0 and 1.
        rows = pl.scan_csv(path, infer_schema=False, glob=False)
        present: list[str] = []
        for name in optional:
            if name in header:
                present.append(name)
        rows = rows.select(*columns, *present)
        # Count the cells before the table is read into memory.
        row_count = rows.select(pl.len()).collect().item()
        check_voxels(row_count * len(rows.collect_schema()), path)
        absent = [pl.lit(None, pl.String).alias(name) for name in optional if name not in header]
        return rows.collect().with_columns(*absent)
    except pl.exceptions.PolarsError as error:
        raise InvalidInput(
            f"{path}: expected a CSV table, got: {str(error).splitlines()[0]}"
        ) from error
