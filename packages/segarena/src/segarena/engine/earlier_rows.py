"""Rows that a run keeps while it is extended with more users: those of its previous users.

    runs/x/earlier/
      configuration.json   run.json as it was
      records/, ...        the tables as they were: hard links, which take no space

The folder exists until every sample also has the dialogues of the new users.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from segarena.engine.rows import Rows
from segarena.errors import StoreError
from segarena.files.atomic_write import write_atomic
from segarena.records.configuration import (
    RunConfiguration,
    configuration_text,
    read_configuration,
)
from segarena.records.parquet_tables import ROW_TYPES, TABLES
from segarena.records.pieces import PIECES_LEDGER, Pieces
from segarena.records.row_types import RoundKey, RoundRecord, Timing

EARLIER = "earlier"
_INCOMPLETE = "earlier.incomplete"
_CONFIGURATION = "configuration.json"

DialogueName: TypeAlias = tuple[str, str, int]
"""Target, user and repeat of a dialogue."""

_RowOfRound = TypeVar("_RowOfRound", bound=RoundKey | RoundRecord)


@dataclass(frozen=True, slots=True)
class KeptSample:
    """The kept rows of a sample, and the users whose dialogues they record."""

    users: frozenset[str] = frozenset()
    rows: Rows = field(default_factory=Rows)


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
            for file in (folder / table).glob("*.parquet"):
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


def merge_rows(
    kept: KeptSample,
    new: Rows,
    order: Sequence[DialogueName],
) -> Rows:
    """Merge kept and new rows of a sample into the rows that a single run with all users would write.

    Args:
        kept: rows of the users that the run had.
        new: rows of the other users.
        order: all dialogues about the sample in the order of a run with all users.
    """
    # The failure of a whole sample has no user, and its other rows cannot be trusted.
    if not kept.users or any(not row.user for row in new.records):
        return new
    earlier = kept.rows
    rows = Rows(
        records=_in_order(kept.users, earlier.records, new.records, order),
        timings=_in_order(kept.users, earlier.timings, new.timings, order),
        masks=_in_order(kept.users, earlier.masks, new.masks, order),
        parts=_in_order(kept.users, earlier.parts, new.parts, order),
    )
    rows.timings[:0] = _encoder_passes(earlier.timings, new.timings)
    recorded = {row.target for row in rows.records}
    for row in new.without_dialogue:
        if row.target not in recorded:
            rows.without_dialogue.append(row)
    return rows


def _in_order(
    users: frozenset[str],
    kept: Iterable[_RowOfRound],
    new: Iterable[_RowOfRound],
    order: Sequence[DialogueName],
) -> list[_RowOfRound]:
    """Return the kept rows of `users` and all new rows, dialogue by dialogue, in the given order of dialogues."""
    by_dialogue: defaultdict[DialogueName, list[_RowOfRound]] = defaultdict(list)
    for row in kept:
        if row.user in users:
            by_dialogue[row.target, row.user, row.repeat].append(row)
    for row in new:
        by_dialogue[row.target, row.user, row.repeat].append(row)
    rows: list[_RowOfRound] = []
    for name in order:
        rows += by_dialogue[name]
    return rows


def _encoder_passes(kept: Iterable[Timing], new: Iterable[Timing]) -> list[Timing]:
    """Return the encoder passes of kept and new rows; a repeated pass counts once, with its new time."""
    kept_passes = _passes_by_target(kept)
    new_passes = _passes_by_target(new)
    for target, passes in kept_passes.items():
        # Of several passes, such as those of slices, it is unknown which were repeated.
        if len(passes) == 1 and len(new_passes.get(target, ())) == 1:
            continue
        new_passes[target] = [*passes, *new_passes.get(target, ())]
    return [row for passes in new_passes.values() for row in passes]


def _passes_by_target(timings: Iterable[Timing]) -> dict[str, list[Timing]]:
    """Return encoder passes by encoded support example; the key "" stands for the sample itself."""
    found: dict[str, list[Timing]] = {}
    for row in timings:
        if not row.user:
            found.setdefault(row.target, []).append(row)
    return found


def _link(source: Path, copy: Path) -> None:
    try:
        os.link(source, copy)
    except OSError:
        # The file system has no hard links.
        shutil.copyfile(source, copy)
