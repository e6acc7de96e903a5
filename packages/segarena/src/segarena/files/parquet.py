"""Parquet tables that anyone may have written, tried by another process before this one reads them.

Over a damaged file Polars may panic or end its process, and a kilobyte can hold a billion equal rows.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl

from segarena.errors import SegarenaError
from segarena.files.limits import check_voxels, most_voxels


def read_parquet(file: Path, *, error: type[SegarenaError]) -> pl.DataFrame:
    """Return a table from elsewhere; it takes a quarter of a second more than Polars does.

    Raises:
        SegarenaError: of the type `error`: it is no Parquet, is damaged, or claims more values than
            `files.limits` allows.
    """
    command = [sys.executable, "-P", "-m", __name__, str(file.absolute())]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own module
    told = tried.stdout.strip()
    if tried.returncode or not told.isdecimal():
        raise error(
            f"{file}: expected a Parquet table, got {told or 'a damaged one'}; copy or export it again"
        )
    check_voxels(int(told), file, error=error)
    return pl.read_parquet(file, glob=False)


def _try(file: str) -> str:
    """Return how many values a file claims, all of them read if so many are allowed; or why it cannot be read."""
    try:
        scan = pl.scan_parquet(file, glob=False)
        values = scan.select(pl.len()).collect().item() * len(scan.collect_schema())
        if values <= most_voxels():
            scan.collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        return (str(error).splitlines() or ["a damaged one"])[0]
    return str(values)


if __name__ == "__main__":
    sys.stdout.write(_try(sys.argv[1]))
