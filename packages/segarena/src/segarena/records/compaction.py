"""Compaction of single-sample files into pieces, and other changes that need the lock on a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl

from segarena.errors import StoreError
from segarena.files.atomic_write import write_atomic
from segarena.files.hashes import sha256
from segarena.records.parquet_tables import parquet_bytes
from segarena.records.pieces import Piece, Pieces, has_sample
from segarena.records.row_types import OPTIONAL_TABLES, REQUIRED_TABLES, TABLES
from segarena.records.sample_file import SAMPLE_SUFFIX, read_sample_file
from segarena.work.ledger import Ledger

BLOCK_SAMPLES = 256
"""Samples per block; a block is compacted as soon as all its samples are done."""

MAX_PIECE_SAMPLES = 256 * BLOCK_SAMPLES
"""Maximum samples in a piece of a finished run."""

MAX_PIECE_BYTES = 64 << 20
"""Maximum bytes of a piece of a finished run; larger blocks are split in two."""


class WritablePieces(Pieces):
    """The tables of a run, for the process that holds the lock on it.

    Args:
        folder: folder of the run.
        samples: all sample ids, in order.
        ledger: the open ledger of the pieces.
        check: raises an error if the process has lost the lock; called before each write.
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
        # Indices of samples with loose files, by block; None until the folder is listed.
        self._loose_by_block: dict[int, set[int]] | None = None

    def write_piece(
        self,
        first: int,
        stop: int,
        tables: Iterable[tuple[str, pl.DataFrame]],
        *,
        replaces: Sequence[str] = (),
    ) -> None:
        """Write the tables of the samples `first` to `stop` - 1 as one piece, which replaces other pieces.

        Raises:
            StoreError: the disk is full or cannot be written.
        """
        name = self._new_name(first, stop)
        files: dict[str, str] = {}
        for table, frame in tables:
            # Most runs have no rows in the optional tables, so they get no empty files.
            if frame.height or table not in OPTIONAL_TABLES:
                data = parquet_bytes(frame)
                self._check()
                write_atomic(self._piece_file(table, name), data)
                files[table] = sha256(data)
        self._note(
            name,
            Piece(
                first=first,
                stop=stop,
                files=files,
                replaces=tuple(replaces),
            ),
        )

    def heal(self) -> None:
        """Remove files that killed processes left behind; samples that lack a file become pending."""
        existing: dict[str, set[str]] = {}
        for table in TABLES:
            # Only pieces have a hyphen in their names; loose files are single numbers.
            files = (self.folder / table).glob("*-*.parquet")
            existing[table] = {file.stem for file in files}
        for name, piece in self._valid_pieces().items():
            if not all(name in existing[table] for table in piece.files):
                self._note(name, None)
        # Read again, because new ledger lines change which pieces are valid.
        pieces = self._valid_pieces()
        for table, names in existing.items():
            for name in names - pieces.keys():
                self._piece_file(table, name).unlink(missing_ok=True)
        # A process killed during compaction leaves loose files whose rows are already in a piece.
        self._remove_loose(index for index in self._loose() if has_sample(pieces, index))
        self._remove_loose(self._without_file())

    def _without_file(self) -> list[int]:
        """Return the indices of loose samples of earlier versions that lack the file of a table."""
        loose = {
            index: file for index, file in self._loose().items() if file.suffix != SAMPLE_SUFFIX
        }
        lacking: set[int] = set()
        for table in REQUIRED_TABLES:
            names = {file.name for file in (self.folder / table).glob("*.parquet")}
            lacking.update(index for index, file in loose.items() if file.name not in names)
        return sorted(lacking)

    def forget_doubtful(self) -> None:
        """Discard the pieces that a damaged ledger line may have changed; their samples become pending."""
        doubtful = self.ledger.doubtful - self._settled
        self._settled |= doubtful
        pieces = self._parse(self.ledger.done)
        for name in pieces.keys() & doubtful:
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
        discarded = sorted(set(indices))
        self._remove_loose(discarded)
        for name, piece in self._valid_pieces().items():
            own = [index for index in discarded if piece.first <= index < piece.stop]
            if own:
                # Keep the piece, because its other samples are done.
                without = sorted({*piece.without, *own})
                self._note(name, replace(piece, without=tuple(without)))

    def gather_around(self, index: int) -> None:
        """Compact the block of a finished sample if all of its samples are done and none is in a piece."""
        block = index // BLOCK_SAMPLES
        first = block * BLOCK_SAMPLES
        stop = min(first + BLOCK_SAMPLES, len(self.samples))
        if self._loose_by_block is None:
            self._loose_by_block = {}
            for found in self._loose():
                self._loose_by_block.setdefault(found // BLOCK_SAMPLES, set()).add(found)
        in_block = self._loose_by_block.setdefault(block, set())
        in_block.add(index)
        # Count in memory: looking up the files of the block after each sample would take longer than small samples.
        if len(in_block) < stop - first:
            return
        for piece in self._valid_pieces().values():
            if piece.first < stop and first < piece.stop:
                return
        # Other processes may have changed the folder, so list it once more.
        if sum(first <= found < stop for found in self._loose()) == stop - first:
            self._gather(first, stop)

    def gather_all(self) -> None:
        """Compact a finished run into as few pieces as possible; equal runs then have equal pieces.

        Raises:
            StoreError: some samples are not done.
        """
        if not all(self.done()):
            raise StoreError(
                f"{self.folder}: some samples are not done; finish the run to compact its files"
            )
        for piece in self._valid_pieces().values():
            if piece.without:
                self._gather(piece.first, piece.stop)
        count = len(self.samples)
        covered = self._covered(self._valid_pieces(), ())
        for first in range(0, count, BLOCK_SAMPLES):
            stop = min(first + BLOCK_SAMPLES, count)
            if not all(covered[first:stop]):
                self._gather(*self._around(first, stop))
        for group in self._groups():
            self._gather(group[0].first, group[-1].stop)

    def _around(self, first: int, stop: int) -> tuple[int, int]:
        """Return a range widened to whole pieces.

        A run to which samples were added may have pieces that end within a block.
        """
        for piece in self._valid_pieces().values():
            if piece.first < stop and first < piece.stop:
                first = min(first, piece.first)
                stop = max(stop, piece.stop)
        return first, stop

    def _groups(self) -> Iterator[list[Piece]]:
        """Yield groups of adjacent pieces that fit into one piece."""
        group: list[Piece] = []
        size = 0
        for name, piece in self._valid_pieces().items():
            piece_bytes = self._size_of(name, piece)
            if group:
                samples = piece.stop - group[0].first
                if size + piece_bytes > MAX_PIECE_BYTES or samples > MAX_PIECE_SAMPLES:
                    yield group
                    group = []
                    size = 0
            group.append(piece)
            size += piece_bytes
        if group:
            yield group

    def _gather(self, first: int, stop: int) -> None:
        """Compact the finished samples `first` to `stop` - 1 into one piece, or several if it is too large."""
        inside: dict[str, Piece] = {}
        total_bytes = 0
        for name, piece in self._valid_pieces().items():
            if first <= piece.first and piece.stop <= stop:
                inside[name] = piece
                total_bytes += self._size_of(name, piece)
        loose = {index: file for index, file in self._loose().items() if first <= index < stop}
        has_discarded = any(piece.without for piece in inside.values())
        # A single complete piece is already compact.
        if not loose and len(inside) < 2 and not has_discarded:
            return
        total_bytes += self._loose_bytes(loose.values())
        # Ranges with pieces are not split, because their middle could fall within a piece.
        if not inside and total_bytes > MAX_PIECE_BYTES and stop - first > 1:
            middle = (first + stop) // 2
            self._gather(first, middle)
            self._gather(middle, stop)
            return
        # Read each file of a sample once for all tables.
        packed = {
            file: read_sample_file(file) for file in loose.values() if file.suffix == SAMPLE_SUFFIX
        }
        # Use a generator, so that only one table is in memory at a time.
        tables = (
            (table, self._rows(table, inside, loose, lambda _: True, packed=packed))
            for table in TABLES
        )
        self.write_piece(first, stop, tables, replaces=tuple(inside))
        # Remove old files only after the ledger has the new piece, so that a killed process loses
        # no samples.
        for old, piece in inside.items():
            for table in piece.files:
                self._piece_file(table, old).unlink(missing_ok=True)
        self._remove_loose(loose)

    def _valid_pieces(self) -> Mapping[str, Piece]:
        # Cached, because parsing a ledger of many pieces takes long; `_note` clears the cache.
        if self._known is None:
            doubtful = self.ledger.doubtful - self._settled
            self._known = self._check_certain(self._parse(self.ledger.done), doubtful)
        return self._known

    def _note(self, name: str, piece: Piece | None) -> None:
        entry = None
        if piece is not None:
            entry = msgspec.to_builtins(piece)
        self._check()
        self.ledger.add(name, entry)
        # Flush to disk before the files that the piece replaces are removed.
        self.ledger.sync()
        self._known = None

    def _new_name(self, first: int, stop: int) -> str:
        """Return a name that no piece has ever had, so that earlier lines of the ledger stay valid."""
        plain = f"{first:06d}-{stop - 1:06d}"
        name = plain
        number = 2
        # A name of an earlier piece would make its old ledger lines apply to the new files.
        while name in self.ledger.done:
            name = f"{plain}.{number}"
            number += 1
        return name

    def _remove_loose(self, indices: Iterable[int]) -> None:
        names = {f"{index:06d}": index for index in indices}
        if not names:
            return
        # Remove the records first: without them the sample is pending, whatever else is left.
        for table in reversed(TABLES):
            # Most samples have no files in the other tables, so list the folder instead of trying each name.
            existing = [file for file in (self.folder / table).glob("*") if file.stem in names]
            for file in existing:
                file.unlink(missing_ok=True)
        if self._loose_by_block is not None:
            for index in names.values():
                self._loose_by_block.get(index // BLOCK_SAMPLES, set()).discard(index)

    def _loose_bytes(self, files: Collection[Path]) -> int:
        """Return the size of loose files; of those of earlier versions, only records and masks, the largest, count."""
        total_bytes = sum(file.stat().st_size for file in files)
        # Earlier versions wrote masks to separate files.
        names = {file.name for file in files if file.suffix != SAMPLE_SUFFIX}
        for file in (self.folder / "masks").glob("*.parquet"):
            if file.name in names:
                total_bytes += file.stat().st_size
        return total_bytes

    def _size_of(self, name: str, piece: Piece) -> int:
        return sum(self._piece_file(table, name).stat().st_size for table in piece.files)
