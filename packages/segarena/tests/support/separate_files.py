"""Samples on disk as earlier versions wrote them: a file for each table."""

import polars as pl

from segarena import RunFolder
from segarena.records.parquet_tables import TABLES
from segarena.records.pieces import sample_files


def write_separately(folder: RunFolder, index: int, **changed: pl.DataFrame) -> None:
    """Replace the file of a sample by a file for each table, some of which may have other rows."""
    frames = {table: folder.read(table, only=[index]) for table in TABLES}
    folder.write_files(index, sample_files({**frames, **changed}))
