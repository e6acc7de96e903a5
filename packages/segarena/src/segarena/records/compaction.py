"""Compact the files of single samples into pieces, and other changes that need the lock on a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl

from segarena.errors import StoreError
from segarena.files.atomic_write import write_atomic
from segarena.files.hashes import sha256
from segarena.records.parquet_tables import OPTIONAL_TABLES, TABLES, parquet_bytes
from segarena.records.pieces import Piece, Pieces, has_sample
from segarena.work.ledger import Ledger

BLOCK_SAMPLES = 256
"""Samples per block; a block is compacted as soon as all of it is done."""

MAX_PIECE_SAMPLES = 256 * BLOCK_SAMPLES
"""Limit of the samples in a piece of a finished run."""

MAX_PIECE_BYTES = 64 << 20
"""Limit of the size of a piece of a finished run; larger blocks are split in two."""


class WritablePieces(Pieces):
    """The tables of a run for the process that holds its lock.

    Args:
        folder: folder of the run.
        samples: all sample ids, in order.
        ledger: ledger of the pieces, open.
        check: raises an error if the process has lost the run; called before each write.
    """

    def __init__(
        self,
        folder: Path,
        samples: Sequence[str],
        ledger: Ledger,
        *,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(folder, samples)
        self.ledger = ledger
        self._check = check
        self._known: dict[str, Piece] | None = None
        self._settled: frozenset[str] = frozenset()

    def write_piece(
        self,
        first: int,
        stop: int,
        tables: Iterable[tuple[str, pl.DataFrame]],
        *,
        replaces: Sequence[str] = (),
    ) -> None:
        """Write the tables of the samples `first` to `stop` - 1 as one piece, which replaces others.

        Raises:
            StoreError: as `write`.
        """
        name = self._new_name(first, stop)
        files: dict[str, str] = {}
        for table, frame in tables:
            if frame.height or table not in OPTIONAL_TABLES:
                data = parquet_bytes(frame)
                self._check()
                write_atomic(self._piece_file(table, name), data)
                files[table] = sha256(data)
        self._note(name, Piece(first=first, stop=stop, files=files, replaces=tuple(replaces)))

    def heal(self) -> None:
        """Remove files that killed processes left; samples whose piece lacks a file become pending."""
        existing = {
            table: {file.stem for file in (self.folder / table).glob("*-*.parquet")}
            for table in TABLES
        }
        for name, piece in self._valid_pieces().items():
            if not all(name in existing[table] for table in piece.files):
                self._note(name, None)
        pieces = self._valid_pieces()
        for table, names in existing.items():
            for name in names - pieces.keys():
                (self.folder / table / f"{name}.parquet").unlink(missing_ok=True)
        self._remove_loose(index for index in self._loose() if has_sample(pieces, index))

    def forget_doubtful(self) -> None:
        """Discard the pieces that a damaged line of the ledger may have changed; their samples become pending."""
        doubtful = self.ledger.doubtful - self._settled
        self._settled |= doubtful
        for name in self._parsed(self.ledger.done).keys() & doubtful:
            self._note(name, None)

    def remove(self, files: Iterable[Path]) -> None:
        """Remove damaged files; their samples become pending."""
        for file in files:
            if file.stem.isdecimal():
                self._remove_loose([int(file.stem)])
            file.unlink(missing_ok=True)
        self.heal()

    def discard(self, indices: Iterable[int]) -> None:
        """Discard samples, which become pending again."""
        gone = sorted(set(indices))
        self._remove_loose(gone)
        for name, piece in self._valid_pieces().items():
            own = [index for index in gone if piece.first <= index < piece.stop]
            if own:
                # The piece stays: its other samples are done.
                without = sorted({*piece.without, *own})
                self._note(name, replace(piece, without=tuple(without)))

    def gather_around(self, index: int) -> None:
        """Compact the block of a sample if all of its samples are done and none is in a piece."""
        first = index - index % BLOCK_SAMPLES
        stop = min(first + BLOCK_SAMPLES, len(self.samples))
        for piece in self._valid_pieces().values():
            if piece.first < stop and first < piece.stop:
                return
        files = (self._loose_file("records", place) for place in range(first, stop))
        if all(file.is_file() for file in files):
            self._gather(first, stop)

    def gather_all(self) -> None:
        """Compact a finished run into as few pieces as possible; equal runs then have equal pieces.

        Raises:
            StoreError: some samples are not done.
        """
        if not all(self.done()):
            raise StoreError(
                f"{self.folder}: some samples are not done; finish the run, then its files are joined"
            )
        for piece in self._valid_pieces().values():
            if piece.without:
                self._gather(piece.first, piece.stop)
        covered = self._covered(self._valid_pieces(), ())
        for first in range(0, len(self.samples), BLOCK_SAMPLES):
            if not covered[first]:
                self._gather(first, min(first + BLOCK_SAMPLES, len(self.samples)))
        for group in self._groups():
            self._gather(group[0].first, group[-1].stop)

    def _groups(self) -> Iterator[list[Piece]]:
        """Yield groups of neighbouring pieces that fit into one piece."""
        group: list[Piece] = []
        size = 0
        for name, piece in self._valid_pieces().items():
            own = self._size_of(name, piece)
            if group and (
                size + own > MAX_PIECE_BYTES or piece.stop - group[0].first > MAX_PIECE_SAMPLES
            ):
                yield group
                group = []
                size = 0
            group.append(piece)
            size += own
        if group:
            yield group

    def _gather(self, first: int, stop: int) -> None:
        """Compact the finished samples `first` to `stop` - 1 into one piece, or several if it is too large."""
        pieces = self._valid_pieces().items()
        inside = {
            name: piece for name, piece in pieces if first <= piece.first and piece.stop <= stop
        }
        loose = [index for index in self._loose() if first <= index < stop]
        has_discarded = any(piece.without for piece in inside.values())
        # A single complete piece is compact already.
        if not loose and len(inside) < 2 and not has_discarded:
            return
        total_bytes = sum(self._size_of(name, piece) for name, piece in inside.items())
        for index in loose:
            # The other tables are small beside these two.
            for table in ("masks", "records"):
                total_bytes += self._loose_file(table, index).stat().st_size
        if not inside and total_bytes > MAX_PIECE_BYTES and stop - first > 1:
            middle = (first + stop) // 2
            self._gather(first, middle)
            self._gather(middle, stop)
            return
        # A generator, so that only one table is in memory at a time.
        tables = ((table, self._rows(table, inside, loose, lambda _: True)) for table in TABLES)
        self.write_piece(first, stop, tables, replaces=tuple(inside))
        # Only now, when the ledger has the new piece: a killed process must not lose samples.
        for old, piece in inside.items():
            for table in piece.files:
                self._piece_file(table, old).unlink(missing_ok=True)
        self._remove_loose(loose)

    def _valid_pieces(self) -> Mapping[str, Piece]:
        if self._known is None:
            self._known = self._check_certain(
                self._parsed(self.ledger.done), self.ledger.doubtful - self._settled
            )
        return self._known

    def _note(self, name: str, piece: Piece | None) -> None:
        self._check()
        self.ledger.add(name, None if piece is None else msgspec.to_builtins(piece))
        self.ledger.sync()
        self._known = None

    def _new_name(self, first: int, stop: int) -> str:
        """Return a name that no piece had before, so that earlier lines of the ledger stay true."""
        name = plain = f"{first:06d}-{stop - 1:06d}"
        number = 2
        while name in self.ledger.done:
            name = f"{plain}.{number}"
            number += 1
        return name

    def _remove_loose(self, indices: Iterable[int]) -> None:
        for index in indices:
            # Records first: without them the sample is pending, whatever else is left.
            for table in reversed(TABLES):
                self._loose_file(table, index).unlink(missing_ok=True)

    def _size_of(self, name: str, piece: Piece) -> int:
        return sum(self._piece_file(table, name).stat().st_size for table in piece.files)
