"""Samples on disk as earlier versions wrote them: a Parquet file for each table."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from segarena import RunFolder
from segarena.files.atomic_write import write_atomic
from segarena.records.parquet_tables import parquet_bytes, seal_parquet
from segarena.records.row_types import OPTIONAL_TABLES, TABLES
from segarena.records.sample_file import sample_file


def separate_files(frames: Mapping[str, pl.DataFrame]) -> dict[str, bytes]:
    """Build the files of one sample, by table."""
    files: dict[str, bytes] = {}
    for table, frame in frames.items():
        if frame.height or table not in OPTIONAL_TABLES:
            files[table] = seal_parquet(parquet_bytes(frame))
    return files


def write_files(folder: Path, index: int, files: Mapping[str, bytes]) -> None:
    """Write the files of one sample, the records last."""
    for table in TABLES:
        if table in files:
            write_atomic(folder / table / f"{index:06d}.parquet", files[table])


def write_separately(folder: RunFolder, index: int, **changed: pl.DataFrame) -> None:
    """Replace the file of a sample by a file for each table, some of which may have other rows."""
    frames = {table: folder.read(table, only=[index]) for table in TABLES}
    write_files(folder.path, index, separate_files({**frames, **changed}))
    sample_file(folder.path, index).unlink(missing_ok=True)
