"""The report as a CSV file that grows with every submission, in the published format with an unnamed index."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl

from segarena.errors import StoreError
from segarena.systems.videos.measures.challenge_report import REPORT_COLUMNS


def claim_report(folder: Path, started: str) -> bool:
    """Create the empty report file for the start time `started`; return False if it already exists, complete or not.

    Raises:
        StoreError: the folder is not writable.
    """
    under_way, complete = report_paths(folder, started)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        under_way.touch(exist_ok=False)
        if complete.exists():
            under_way.unlink()
            return False
    except OSError as error:
        if isinstance(error, FileExistsError) and under_way.exists():
            return False
        raise _unwritable(under_way, error) from error
    return True


class ReportFile:
    """A report in progress: `result_X.tmp.csv`, which is renamed to `result_X.csv` when it is complete.

    Args:
        folder: folder of the report; created unless it exists.
        started: start time, the X in the file name.
        report: the rows so far; the file is first rewritten to contain exactly these.

    Attributes:
        path: the finished file.

    Raises:
        StoreError: the file is not writable.
    """

    def __init__(
        self,
        folder: Path,
        started: str,
        report: pl.DataFrame,
    ) -> None:
        self._path, self.path = report_paths(folder, started)
        self._rows = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.path.unlink(missing_ok=True)
            self._file = self._path.open("w", encoding="utf-8", newline="")
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(["", *REPORT_COLUMNS])
        self.add(report)

    def add(self, rows: pl.DataFrame) -> None:
        """Append rows, without reading or rewriting earlier ones."""
        for number, row in enumerate(rows.iter_rows(), self._rows):
            self._writer.writerow((number, *row))
        self._rows += rows.height
        # Flushed, so that after a crash the report contains all finished interactions.
        self._file.flush()

    def finish(self) -> None:
        """Close the file and rename it to its final name."""
        self._file.close()
        self._path.replace(self.path)

    def close(self) -> None:
        """Close the file without renaming it."""
        self._file.close()


def report_paths(folder: Path, started: str) -> tuple[Path, Path]:
    """Return the paths of a report with the start time `started`: in progress, and complete."""
    return folder / f"result_{started}.tmp.csv", folder / f"result_{started}.csv"


def _unwritable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path} cannot be written: {error.strerror}; choose another folder")
