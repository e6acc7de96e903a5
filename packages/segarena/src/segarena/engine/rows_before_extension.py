"""Rows that a run keeps while it is extended with more users: those of its previous users.

    runs/x/earlier/
      configuration.json   run.json as it was
      records/, ...        the tables as they were: hard links, which take no space

The folder exists until every sample also has the dialogues of the new users.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from segarena.engine.rows import Rows
from segarena.engine.sample_row_merging import KeptSample
from segarena.errors import StoreError
from segarena.files.atomic_write import write_atomic
from segarena.records.configuration import (
    RunConfiguration,
    configuration_text,
    read_configuration,
)
from segarena.records.pieces import FILE_SUFFIXES, PIECES_LEDGER, Pieces
from segarena.records.row_types import ROW_TYPES, TABLES

EARLIER = "earlier"
_INCOMPLETE = "earlier.incomplete"
_CONFIGURATION = "configuration.json"


class EarlierRows:
    """The rows that a run had before it was extended with more users.

    Args:
        folder: folder of the run.

    Attributes:
        config: configuration of that time; None if the run is not being extended with more users.
    """

    def __init__(self, folder: Path) -> None:
        self.config: RunConfiguration | None = None
        file = folder / EARLIER / _CONFIGURATION
        if not file.is_file():
            return
        self.config = read_configuration(file).config
        samples = self.config.dataset.samples
        self._indices = {sample: index for index, sample in enumerate(samples)}
        self._pieces = Pieces(folder / EARLIER, samples)
        self._done = self._pieces.done()

    def of_sample(self, sample: str) -> KeptSample:
        """Return the kept rows of a sample: those of all users without a failure in that sample.

        A failed dialogue runs again, and so do all dialogues if a file is damaged.
        """
        if self.config is None or sample not in self._indices:
            return KeptSample()
        index = self._indices[sample]
        if not self._done[index]:
            return KeptSample()
        try:
            rows = Rows(**{table: self._read(table, index) for table in TABLES})
        except StoreError:
            return KeptSample()
        failed = {row.user for row in rows.records if row.failure is not None}
        # The failure of a whole sample has no user.
        if "" in failed:
            return KeptSample()
        users = frozenset(user.written for user in self.config.users) - failed
        return KeptSample(users, rows)

    def _read(self, table: str, index: int) -> list[Any]:
        kind = ROW_TYPES[table]
        frame = self._pieces.read(table, only=[index])
        rows: list[Any] = []
        for cells in frame.iter_rows(named=True):
            fields: dict[str, Any] = {}
            values: dict[str, float] = {}
            for name, cell in cells.items():
                if name in kind.__struct_fields__:
                    fields[name] = tuple(cell) if isinstance(cell, list) else cell
                elif cell is not None:
                    values[name] = cell
            if "values" in kind.__struct_fields__:
                fields["values"] = values
            rows.append(kind(**fields))
        return rows


def keep_rows(folder: Path, config: RunConfiguration) -> None:
    """Keep the tables of a run and its configuration `config`, so that its samples can be discarded.

    Raises:
        StoreError: the folder cannot be written.
    """
    incomplete = folder / _INCOMPLETE
    try:
        shutil.rmtree(incomplete, ignore_errors=True)
        for table in TABLES:
            (incomplete / table).mkdir(parents=True)
            for file in (folder / table).glob("*"):
                if file.suffix in FILE_SUFFIXES:
                    _link(file, incomplete / table / file.name)
        # The ledger of the run is appended to, so that a link would change with it.
        if (folder / PIECES_LEDGER).is_file():
            shutil.copyfile(folder / PIECES_LEDGER, incomplete / PIECES_LEDGER)
        write_atomic(incomplete / _CONFIGURATION, configuration_text(config))
        shutil.rmtree(folder / EARLIER, ignore_errors=True)
        incomplete.rename(folder / EARLIER)
    except OSError as error:
        raise StoreError(f"{folder} cannot be extended: {error.strerror}") from error


def forget_earlier_rows(folder: Path) -> None:
    """Remove the kept tables of a run."""
    shutil.rmtree(folder / EARLIER, ignore_errors=True)
    shutil.rmtree(folder / _INCOMPLETE, ignore_errors=True)


def _link(source: Path, copy: Path) -> None:
    try:
        os.link(source, copy)
    except OSError:
        # The file system has no hard links.
        shutil.copyfile(source, copy)
