"""The report as a CSV file that grows with every submission, in the published form: an index without a name first."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl

from segarena.errors import StoreError
from segarena.metrics.video_report import COLUMNS


class ReportFile:
    """A report under way: `result_X.tmp.csv`, which becomes `result_X.csv` when it is complete.

    Args:
        folder: where it is; made if need be.
        stem: of its name.
        report: the rows so far; the file is written anew with them, once.
    """

    def __init__(self, folder: Path, stem: str, report: pl.DataFrame) -> None:
        self._path = folder / f"{stem}.tmp.csv"
        self._rows = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.path.unlink(missing_ok=True)
            self._file = self._path.open("w", encoding="utf-8", newline="")
        except OSError as error:
            raise StoreError(f"{self._path} cannot be written: {error.strerror}; choose another folder") from error
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(["", *COLUMNS])
        self.add(report)

    @property
    def path(self) -> Path:
        """The finished file."""
        return self._path.with_name(self._path.name.removesuffix(".tmp.csv") + ".csv")

    def add(self, rows: pl.DataFrame) -> None:
        """Append rows; nothing that is there is read or written again."""
        self._writer.writerows((self._rows + number, *row) for number, row in enumerate(rows.iter_rows()))
        self._rows += rows.height
        self._file.flush()

    def finish(self) -> None:
        """Close the file and give it its last name."""
        self._file.close()
        self._path.replace(self.path)

    def close(self) -> None:
        """Close the file as it is."""
        self._file.close()
