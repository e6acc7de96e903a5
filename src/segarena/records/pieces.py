"""Few large files instead of one per sample: what is written sample by sample is gathered as the run goes on.

    records/000300.parquet          one sample, as it was written: loose
    records/000000-000255.parquet   a piece: the same rows of many samples, in the order of the samples
    pieces.jsonl                    the ledger of pieces: which samples each covers, and the SHA-256 of its files

A sample is written to all tables as loose files, records last; any number of processes may do that at once. Who holds
the run gathers them. A piece is written whole to all tables, then noted in the ledger, and only then are the files
that it replaces removed. So at every instant each sample is either in the ledger's pieces, or loose, or not done; what
a killed process left beside that is removed by the next one that holds the run.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import polars as pl

from segarena.errors import StoreError
from segarena.files.hashes import sha256, sha256_of_file
from segarena.files.whole import write_whole
from segarena.records.tables import ONLY_WITH_ROWS, TABLES, check_seal, joined, parquet_of, sealed
from segarena.work.ledger import Ledger, Noted, read_ledger

LEDGER = "pieces.jsonl"
BLOCK = 256
"""Samples are gathered in stretches of so many, as soon as all of one are done."""

MOST_SAMPLES, MOST_BYTES = 256 * BLOCK, 64 << 20
"""When a run is finished, its pieces are joined up to this size; a stretch that is larger is cut in two."""

AGAIN = "the command of the run with --retry-damaged makes its samples again"

_PIECE = re.compile(r"[0-9]+-[0-9]+(\.[0-9]+)?")

IsRead: TypeAlias = Callable[[str], bool]
"""Whether a column is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Samples that share files.

    Attributes:
        first, stop: it covers the places `first` to `stop` - 1 in the order of samples.
        files: by table, the SHA-256 of the file.
        without: places that were discarded since and count as not done, unless they are loose.
        replaces: names of pieces that it was made of.
    """

    first: int
    stop: int
    files: Mapping[str, str]
    without: tuple[int, ...] = ()
    replaces: tuple[str, ...] = ()


@dataclass(slots=True)
class Pieces:
    """The tables of a run on disk.

    Attributes:
        folder: of the run.
        samples: all sample ids, in order.
        ledger: open for who holds the run; None for who only reads.
    """

    folder: Path
    samples: Sequence[str]
    ledger: Ledger | None = None
    _verified: set[Path] = field(default_factory=set[Path])
    _known: dict[str, Piece] | None = None
    _settled: frozenset[str] = frozenset()

    def write(self, index: int, frames: Mapping[str, pl.DataFrame]) -> None:
        """Write the tables of the sample at `index`; it is done then.

        Raises:
            StoreError: the disk is full or cannot be written. What was written before stays.
        """
        for table in TABLES:
            if frames[table].height or table not in ONLY_WITH_ROWS:
                write_whole(self._loose_file(table, index), sealed(parquet_of(frames[table])))

    def write_piece(
        self, first: int, stop: int, tables: Iterable[tuple[str, pl.DataFrame]], *, replaces: Sequence[str] = ()
    ) -> None:
        """Write the tables of the samples at `first` to `stop` - 1 at once, in place of pieces that had some of them.

        Raises:
            StoreError: as `write`; or the run is not held.
        """
        name = self._new_name(first, stop)
        files: dict[str, str] = {}
        for table, frame in tables:
            if frame.height or table not in ONLY_WITH_ROWS:
                data = parquet_of(frame)
                write_whole(self._piece_file(table, name), data)
                files[table] = sha256(data)
        self._note(name, Piece(first=first, stop=stop, files=files, replaces=tuple(replaces)))

    def read(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        *,
        without: Sequence[str] = (),
        only: Collection[int] | None = None,
    ) -> pl.DataFrame:
        """Return a table in the order of the samples: all columns or those of `columns` that it has, less some.

        Args:
            table: its name.
            columns: None for all.
            without: columns that are left out.
            only: places of the samples that are wanted; files without any of them are not opened.

        Raises:
            StoreError: a file is damaged, or one that the ledger names is missing.
        """

        def is_read(name: str) -> bool:  # the sample tells where a row belongs
            return name == "sample" or ((columns is None or name in columns) and name not in without)

        rows = self._rows_found(table, is_read, only)
        there = rows.columns if columns is None else [name for name in columns if name in rows.columns]
        return rows.select(name for name in there if name not in without)

    def done(self) -> bytearray:
        """Return 1 for each sample that is done, 0 for the others: a look at the ledger and at one folder."""
        names = {file.stem for file in (self.folder / "records").glob("*.parquet")}
        return self._covered({name: piece for name, piece in self._standing().items() if name in names}, names)

    def heal(self) -> None:
        """Remove what killed processes left; samples whose piece has lost a file count as not done."""
        here = {table: {file.stem for file in (self.folder / table).glob("*-*.parquet")} for table in TABLES}
        for name, piece in self._standing().items():
            if not all(name in here[table] for table in piece.files):
                self._note(name, None)
        standing = self._standing()
        for table, names in here.items():
            for name in names - standing.keys():
                (self.folder / table / f"{name}.parquet").unlink(missing_ok=True)
        self._remove_loose(index for index in self._loose() if _covering(standing, index))

    def damaged(self) -> tuple[dict[Path, str], int]:
        """Return the damaged or missing files, with what is wrong, and how many files have no checksum to look at."""
        found: dict[Path, str] = {}
        unsealed = 0
        pieces = self._standing()
        for name, piece in pieces.items():
            for table, expected in piece.files.items():
                file = self._piece_file(table, name)
                if not file.is_file():
                    found[file] = "it is missing"
                elif sha256_of_file(file) != expected:
                    found[file] = f"its SHA-256 is not the one in {LEDGER}"
        for index in self._loose():
            for file in (self._loose_file(table, index) for table in TABLES if not _covering(pieces, index)):
                try:
                    unsealed += file.is_file() and not check_seal(file.read_bytes())
                except ValueError as error:
                    found[file] = str(error)
        return found, unsealed

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
        first = index - index % BLOCK
        stop = min(first + BLOCK, len(self.samples))
        is_loose = not any(piece.first < stop and first < piece.stop for piece in self._standing().values())
        if is_loose and all(self._loose_file("records", place).is_file() for place in range(first, stop)):
            self._gather(first, stop)

    def gather_all(self) -> None:
        """Make a finished run as few pieces as may be; equal runs then have equal pieces."""
        for piece in self._standing().values():
            if piece.without:
                self._gather(piece.first, piece.stop)
        covered = self._covered(self._standing(), ())
        for first in range(0, len(self.samples), BLOCK):
            if not covered[first]:
                self._gather(first, min(first + BLOCK, len(self.samples)))
        for group in self._groups():
            self._gather(group[0].first, group[-1].stop)

    def _groups(self) -> Iterator[list[Piece]]:
        """Yield neighbouring pieces that fit into one."""
        group: list[Piece] = []
        size = 0
        for name, piece in self._standing().items():
            own = self._size_of(name, piece)
            if group and (size + own > MOST_BYTES or piece.stop - group[0].first > MOST_SAMPLES):
                yield group
                group, size = [], 0
            group.append(piece)
            size += own
        if group:
            yield group

    def _gather(self, first: int, stop: int) -> None:
        """Make one piece of what is done from `first` to `stop` - 1, or several if it is too large."""
        inside = {name: p for name, p in self._standing().items() if first <= p.first and p.stop <= stop}
        loose = [index for index in self._loose() if first <= index < stop]
        if not loose and len(inside) < 2 and not any(piece.without for piece in inside.values()):
            return
        sizes = [self._size_of(name, piece) for name, piece in inside.items()]
        sizes += [
            (self.folder / table / _loose_name(i)).stat().st_size for i in loose for table in ("masks", "records")
        ]
        if not inside and sum(sizes) > MOST_BYTES and stop - first > 1:
            self._gather(first, (first + stop) // 2)
            self._gather((first + stop) // 2, stop)
            return
        tables = ((table, self._rows(table, inside, loose, _everything)) for table in TABLES)
        self.write_piece(first, stop, tables, replaces=tuple(inside))
        for old, piece in inside.items():
            for table in piece.files:
                self._piece_file(table, old).unlink(missing_ok=True)
        self._remove_loose(loose)

    def _rows_found(self, table: str, is_read: IsRead, only: Collection[int] | None, tries: int = 3) -> pl.DataFrame:
        """Return all rows; another process may gather a file that was just found, so it is looked for again."""
        try:
            if only is None:
                return self._rows(table, self._standing(), self._loose(), is_read)
            pieces = {n: p for n, p in self._standing().items() if any(p.first <= index < p.stop for index in only)}
            rows = self._rows(table, pieces, [index for index in self._loose() if index in only], is_read)
            return rows.filter(pl.col("sample").is_in([self.samples[index] for index in only]))
        except FileNotFoundError as error:
            if tries > 1:
                return self._rows_found(table, is_read, only, tries - 1)
            lost = error.filename or self.folder / table
            raise StoreError(f"{lost} is missing; the same command makes its samples again") from error

    def _rows(self, table: str, pieces: Mapping[str, Piece], loose: Sequence[int], is_read: IsRead) -> pl.DataFrame:
        found: list[tuple[int, pl.DataFrame]] = []
        for name, piece in pieces.items():
            if table in piece.files:
                found.append((piece.first, self._piece_rows(table, name, piece, is_read)))
        starts = sorted(first for first, _ in found)
        alone = [index for index in loose if not _covering(pieces, index)]
        for _, run in groupby(alone, lambda index: bisect(starts, index)):  # what lies between the same two pieces
            indices = list(run)
            files = [self._loose_file(table, index) for index in indices]
            if table in ONLY_WITH_ROWS:
                files = [file for file in files if file.is_file()]
            if files:
                found.append((indices[0], joined(table, list(_read_small_files(table, files, is_read)))))
        frame = joined(table, [rows for _, rows in sorted(found, key=lambda one: one[0])])
        if any(piece.without for piece in pieces.values()):  # what was done again since lies behind its neighbours
            place = {sample: index for index, sample in enumerate(self.samples)}
            frame = frame.sort(pl.col("sample").replace_strict(place, return_dtype=pl.Int64), maintain_order=True)
        return frame

    def _piece_rows(self, table: str, name: str, piece: Piece, is_read: IsRead) -> pl.DataFrame:
        file = self._piece_file(table, name)
        source: Path | bytes = file
        if file not in self._verified:
            source = file.read_bytes()
            if sha256(source) != piece.files[table]:
                raise StoreError(f"{file} is damaged: its SHA-256 is not the one in {LEDGER}; {AGAIN}")
        self._verified.add(file)
        rows = _scanned(source, file, is_read)
        return rows.filter(~pl.col("sample").is_in([self.samples[i] for i in piece.without])) if piece.without else rows

    def _covered(self, pieces: Mapping[str, Piece], loose: Iterable[str]) -> bytearray:
        """Return 1 for each sample that is in one of these pieces or has a loose file of that name."""
        found = bytearray(len(self.samples))
        for piece in pieces.values():
            found[piece.first : piece.stop] = b"\1" * (piece.stop - piece.first)
            for index in piece.without:
                found[index] = 0
        for name in loose:
            if name.isdecimal() and int(name) < len(found):
                found[int(name)] = 1
        return found

    def _standing(self) -> Mapping[str, Piece]:
        """Return the pieces that count, by name, in the order of their samples."""
        if self.ledger is None:
            file = self.folder / LEDGER
            noted = read_ledger(file) if file.is_file() and file.stat().st_size else Noted(None, {})
            return self._sound(self._parsed(noted.done), noted.doubtful)
        if self._known is None:
            self._known = self._sound(self._parsed(self.ledger.done), self.ledger.doubtful - self._settled)
        return self._known

    def _sound(self, pieces: dict[str, Piece], doubtful: Set[str]) -> dict[str, Piece]:
        """Refuse pieces about which a damaged line may have said more: that some of their samples were done again."""
        if lost := sorted(pieces.keys() & doubtful):
            raise StoreError(
                f"{self.folder / LEDGER}: a line is damaged, and may have said more of {', '.join(lost[:3])}; {AGAIN}"
            )
        return pieces

    def forget_doubtful(self) -> None:
        """Let the samples of pieces that a damaged line of the ledger may be about count as not done."""
        if self.ledger is not None:
            doubtful = self.ledger.doubtful - self._settled
            self._settled |= doubtful
            for name in self._parsed(self.ledger.done).keys() & doubtful:
                self._note(name, None)

    def _parsed(self, noted: Mapping[str, Any]) -> dict[str, Piece]:
        try:
            pieces = {name: msgspec.convert(told, Piece) for name, told in noted.items() if told is not None}
        except msgspec.ValidationError as error:
            raise StoreError(f"{self.folder / LEDGER}: {error}; it is damaged or of a later version") from error
        for name, piece in pieces.items():
            # Names become paths of files that are read and removed.
            is_ours = _PIECE.fullmatch(name) and piece.files.keys() <= set(TABLES)
            is_inside = 0 <= piece.first < piece.stop <= len(self.samples)
            if not (is_ours and is_inside and all(piece.first <= index < piece.stop for index in piece.without)):
                raise StoreError(
                    f"{self.folder / LEDGER}: expected pieces of this run, got {name[:80]!r}; it is damaged"
                )
        replaced = {old for piece in pieces.values() for old in piece.replaces}
        return dict(sorted(((n, p) for n, p in pieces.items() if n not in replaced), key=lambda one: one[1].first))

    def _note(self, name: str, piece: Piece | None) -> None:
        if self.ledger is None:
            raise StoreError(f"{self.folder}: only the process that holds the run may gather or discard")
        self.ledger.add(name, None if piece is None else msgspec.to_builtins(piece))
        self.ledger.sync()
        self._known = None

    def _new_name(self, first: int, stop: int) -> str:
        """Return a name that no piece had before: what the ledger says of a name stays true."""
        known: Mapping[str, Any] = {} if self.ledger is None else self.ledger.done
        plain = f"{first:06d}-{stop - 1:06d}"
        again = (f"{plain}.{number}" for number in range(2, len(known) + 3))
        return next(name for name in (plain, *again) if name not in known)

    def _loose(self) -> list[int]:
        """Return the places of loose samples, ascending."""
        names = (file.stem for file in (self.folder / "records").glob("*.parquet"))
        return sorted(int(name) for name in names if name.isdecimal() and int(name) < len(self.samples))

    def _remove_loose(self, indices: Iterable[int]) -> None:
        for index in indices:
            for table in reversed(TABLES):
                self._loose_file(table, index).unlink(missing_ok=True)

    def _loose_file(self, table: str, index: int) -> Path:
        return self.folder / table / _loose_name(index)

    def _piece_file(self, table: str, name: str) -> Path:
        return self.folder / table / f"{name}.parquet"

    def _size_of(self, name: str, piece: Piece) -> int:
        return sum(self._piece_file(table, name).stat().st_size for table in piece.files)


def _loose_name(index: int) -> str:
    return f"{index:06d}.parquet"


def _everything(_: str) -> bool:
    return True


def _covering(pieces: Mapping[str, Piece], index: int) -> bool:
    """Tell whether a piece has the sample at `index`."""
    return any(p.first <= index < p.stop and index not in p.without for p in pieces.values())


def _read_small_files(table: str, files: Sequence[Path], is_read: IsRead) -> Iterator[pl.DataFrame]:
    """Yield the rows of many files, in their order, some of them at once: each is read once, checked, then parsed."""
    contents: list[bytes] = []
    first = size = 0
    for place, file in enumerate(files, 1):
        contents.append(_undamaged(file))
        size += len(contents[-1])
        if size > MOST_BYTES or place == len(files):
            yield _parsed_at_once(table, contents, files[first:place], is_read)
            contents, first, size = [], place, 0


def _parsed_at_once(table: str, contents: Sequence[bytes], files: Sequence[Path], is_read: IsRead) -> pl.DataFrame:
    """Return the rows of files by one scan: one by one takes far longer.

    Where that cannot be done (a file of an earlier version is damaged, or one has a column that the first one lacks)
    each half is tried.
    """
    if len(files) == 1:
        return _scanned(contents[0], files[0], is_read)
    try:
        scan = pl.scan_parquet(list(map(BytesIO, contents)), missing_columns="insert")
        return scan.select(filter(is_read, scan.collect_schema().names())).collect()
    except (pl.exceptions.PolarsError, OSError):
        middle = len(files) // 2
        halves = ((contents[:middle], files[:middle]), (contents[middle:], files[middle:]))
        return joined(table, [_parsed_at_once(table, *half, is_read) for half in halves])


def _undamaged(file: Path) -> bytes:
    """Return the bytes of a loose file; over a damaged one Polars may end the process, or read other values."""
    data = file.read_bytes()
    try:
        check_seal(data)
    except ValueError as error:
        raise StoreError(f"{file} is damaged: {error}; {AGAIN}") from error
    return data


def _scanned(source: Path | bytes, file: Path, is_read: IsRead) -> pl.DataFrame:
    """Return the rows of a file, from its bytes if they are there."""
    try:
        scan = pl.scan_parquet(source)
        return scan.select(filter(is_read, scan.collect_schema().names())).collect()
    except FileNotFoundError:
        raise
    except (pl.exceptions.PolarsError, OSError) as error:
        raise StoreError(f"{file} is damaged ({str(error).splitlines()[0]}); {AGAIN}") from error
