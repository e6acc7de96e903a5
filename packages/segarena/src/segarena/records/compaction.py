"""Gathering single samples into pieces, and what else only the process that holds a run may do to its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl

from segarena.errors import StoreError
from segarena.files.hashes import sha256
from segarena.files.whole import write_whole
from segarena.records.parquet_tables import OPTIONAL_TABLES, TABLES, parquet_bytes
from segarena.records.pieces import Piece, Pieces, has_sample
from segarena.work.ledger import Ledger

BLOCK_SAMPLES = 256
"""Samples are gathered in stretches of so many, as soon as all of one are done."""

MAX_PIECE_SAMPLES = 256 * BLOCK_SAMPLES
MAX_PIECE_BYTES = 64 << 20
"""When a run is finished, its pieces are joined up to this size; a stretch that is larger is cut in two."""


class WritablePieces(Pieces):
    """The tables of a run for the process that holds it, with its ledger open.

    Args:
        folder: of the run.
        samples: all sample ids, in order.
        ledger: of its pieces.
        check: raises an error when the process holds the run no longer; called before anything is written.
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
        """Write the tables of the samples at `first` to `stop` - 1 at once, in place of pieces that had some of them.

        Raises:
            StoreError: as `write`.
        """
        name = self._new_name(first, stop)
        files: dict[str, str] = {}
        for table, frame in tables:
            if frame.height or table not in OPTIONAL_TABLES:
                data = parquet_bytes(frame)
                self._check()
                write_whole(self._piece_file(table, name), data)
                files[table] = sha256(data)
        self._note(name, Piece(first=first, stop=stop, files=files, replaces=tuple(replaces)))

    def heal(self) -> None:
        """Remove what killed processes left; samples whose piece has lost a file count as not done."""
        here = {
            table: {file.stem for file in (self.folder / table).glob("*-*.parquet")}
            for table in TABLES
        }
        for name, piece in self._standing().items():
            if not all(name in here[table] for table in piece.files):
                self._note(name, None)
        standing = self._standing()
        for table, names in here.items():
            for name in names - standing.keys():
                (self.folder / table / f"{name}.parquet").unlink(missing_ok=True)
        self._remove_loose(index for index in self._loose() if has_sample(standing, index))

    def forget_doubtful(self) -> None:
        """Let the samples of pieces that a damaged line of the ledger may be about count as not done."""
        doubtful = self.ledger.doubtful - self._settled
        self._settled |= doubtful
        for name in self._parsed(self.ledger.done).keys() & doubtful:
            self._note(name, None)

    def remove(self, files: Iterable[Path]) -> None:
        """Remove damaged files; the samples in them count as not done then."""
        for file in files:
            if file.stem.isdecimal():
                self._remove_loose([int(file.stem)])
            file.unlink(missing_ok=True)
        self.heal()

    def discard(self, indices: Iterable[int]) -> None:
        """Forget samples, so that they are done again."""
        gone = sorted(set(indices))
        self._remove_loose(gone)
        for name, piece in self._standing().items():
            own = [index for index in gone if piece.first <= index < piece.stop]
            if own:
                self._note(name, replace(piece, without=tuple(sorted({*piece.without, *own}))))

    def gather_around(self, index: int) -> None:
        """Make a piece of the stretch that a sample belongs to, if all of it is done and still loose."""
        first = index - index % BLOCK_SAMPLES
        stop = min(first + BLOCK_SAMPLES, len(self.samples))
        is_loose = not any(
            piece.first < stop and first < piece.stop for piece in self._standing().values()
        )
        if is_loose and all(
            self._loose_file("records", place).is_file() for place in range(first, stop)
        ):
            self._gather(first, stop)

    def gather_all(self) -> None:
        """Make a finished run as few pieces as may be; equal runs then have equal pieces.

        Raises:
            StoreError: some samples are not done.
        """
        if not all(self.done()):
            raise StoreError(
                f"{self.folder}: some samples are not done; finish the run, then its files are joined"
            )
        for piece in self._standing().values():
            if piece.without:
                self._gather(piece.first, piece.stop)
        covered = self._covered(self._standing(), ())
        for first in range(0, len(self.samples), BLOCK_SAMPLES):
            if not covered[first]:
                self._gather(first, min(first + BLOCK_SAMPLES, len(self.samples)))
        for group in self._groups():
            self._gather(group[0].first, group[-1].stop)

    def _groups(self) -> Iterator[list[Piece]]:
        """Yield neighbouring pieces that fit into one."""
        group: list[Piece] = []
        size = 0
        for name, piece in self._standing().items():
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
        """Make one piece of what is done from `first` to `stop` - 1, or several if it is too large."""
        inside = {
            name: p for name, p in self._standing().items() if first <= p.first and p.stop <= stop
        }
        loose = [index for index in self._loose() if first <= index < stop]
        if not loose and len(inside) < 2 and not any(piece.without for piece in inside.values()):
            return
        sizes = [self._size_of(name, piece) for name, piece in inside.items()]
        sizes += [
            self._loose_file(table, i).stat().st_size
            for i in loose
            for table in ("masks", "records")
        ]
        if not inside and sum(sizes) > MAX_PIECE_BYTES and stop - first > 1:
            self._gather(first, (first + stop) // 2)
            self._gather((first + stop) // 2, stop)
            return
        tables = ((table, self._rows(table, inside, loose, lambda _: True)) for table in TABLES)
        self.write_piece(first, stop, tables, replaces=tuple(inside))
        for old, piece in inside.items():
            for table in piece.files:
                self._piece_file(table, old).unlink(missing_ok=True)
        self._remove_loose(loose)

    def _standing(self) -> Mapping[str, Piece]:
        if self._known is None:
            self._known = self._sound(
                self._parsed(self.ledger.done), self.ledger.doubtful - self._settled
            )
        return self._known

    def _note(self, name: str, piece: Piece | None) -> None:
        self._check()
        self.ledger.add(name, None if piece is None else msgspec.to_builtins(piece))
        self.ledger.sync()
        self._known = None

    def _new_name(self, first: int, stop: int) -> str:
        """Return a name that no piece had before: what the ledger says of a name stays true."""
        known = self.ledger.done
        plain = f"{first:06d}-{stop - 1:06d}"
        again = (f"{plain}.{number}" for number in range(2, len(known) + 3))
        return next(name for name in (plain, *again) if name not in known)

    def _remove_loose(self, indices: Iterable[int]) -> None:
        for index in indices:
            for table in reversed(TABLES):
                self._loose_file(table, index).unlink(missing_ok=True)

    def _size_of(self, name: str, piece: Piece) -> int:
        return sum(self._piece_file(table, name).stat().st_size for table in piece.files)
