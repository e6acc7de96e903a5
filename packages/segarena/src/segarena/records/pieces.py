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
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from segarena.errors import StoreError
from segarena.files.hashes import sha256, sha256_of_file
from segarena.files.whole import write_whole
from segarena.records.parquet_scan import RETRY_HINT, ColumnFilter, read_small_files, scan_file
from segarena.records.parquet_tables import (
    COLUMNS,
    OPTIONAL_TABLES,
    TABLES,
    concat_frames,
    parquet_bytes,
    schema_fault,
    seal_parquet,
    verify_seal,
)
from segarena.work.ledger import LedgerContents, read_ledger

PIECES_LEDGER = "pieces.jsonl"
_PIECE = re.compile(r"[0-9]+-[0-9]+(\.[0-9]+)?")


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
    """The tables of a run on disk, for all who read them, and for processes that add single samples.

    Attributes:
        folder: of the run.
        samples: all sample ids, in order.
    """

    folder: Path
    samples: Sequence[str]
    _verified: set[Path] = field(default_factory=set[Path])

    def write(self, index: int, files: Mapping[str, bytes]) -> None:
        """Write the tables of the sample at `index`, as `files_of` gives them; it is done then.

        Raises:
            StoreError: the disk is full or cannot be written. What was written before stays.
        """
        for table in TABLES:
            if table in files:
                write_whole(self._loose_file(table, index), files[table])

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
            return name == "sample" or (
                (columns is None or name in columns) and name not in without
            )

        rows = self._rows_found(table, is_read, only)
        if columns is None:
            there = rows.columns
        else:
            there = [name for name in columns if name in rows.columns]
        return rows.select(name for name in there if name not in without)

    def done(self) -> bytearray:
        """Return 1 for each sample that is done, 0 for the others: a look at the ledger and at one folder."""
        names = {file.stem for file in (self.folder / "records").glob("*.parquet")}
        return self._covered(
            {name: piece for name, piece in self._standing().items() if name in names}, names
        )

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
                    found[file] = f"its SHA-256 is not the one in {PIECES_LEDGER}"
        for index in self._loose():
            for file in (
                self._loose_file(table, index) for table in TABLES if not has_sample(pieces, index)
            ):
                try:
                    unsealed += file.is_file() and not verify_seal(file.read_bytes())
                except ValueError as error:
                    found[file] = str(error)
        return found, unsealed

    def _rows_found(
        self, table: str, is_read: ColumnFilter, only: Collection[int] | None, tries: int = 3
    ) -> pl.DataFrame:
        """Return all rows; another process may gather a file that was just found, so it is looked for again."""
        try:
            if only is None:
                return self._rows(table, self._standing(), self._loose(), is_read)
            pieces = {
                n: p
                for n, p in self._standing().items()
                if any(p.first <= index < p.stop for index in only)
            }
            rows = self._rows(
                table, pieces, [index for index in self._loose() if index in only], is_read
            )
            return rows.filter(pl.col("sample").is_in([self.samples[index] for index in only]))
        except FileNotFoundError as error:
            if tries > 1:
                return self._rows_found(table, is_read, only, tries - 1)
            lost = error.filename or self.folder / table
            raise StoreError(
                f"{lost} is missing; the same command makes its samples again"
            ) from error

    def _rows(
        self, table: str, pieces: Mapping[str, Piece], loose: Sequence[int], is_read: ColumnFilter
    ) -> pl.DataFrame:
        found: list[tuple[int, pl.DataFrame]] = []
        for name, piece in pieces.items():
            if table in piece.files:
                found.append((piece.first, self._piece_rows(table, name, piece, is_read)))
        starts = sorted(first for first, _ in found)
        alone = [index for index in loose if not has_sample(pieces, index)]
        for _, run in groupby(
            alone, lambda index: bisect(starts, index)
        ):  # what lies between the same two pieces
            indices = list(run)
            files = [self._loose_file(table, index) for index in indices]
            if table in OPTIONAL_TABLES:
                files = [file for file in files if file.is_file()]
            if files:
                found.append(
                    (
                        indices[0],
                        concat_frames(table, list(read_small_files(table, files, is_read))),
                    )
                )
        frame = concat_frames(table, [rows for _, rows in sorted(found, key=lambda one: one[0])])
        if fault := schema_fault(table, frame, filter(is_read, COLUMNS[table])):
            raise StoreError(
                f"{self.folder / table}: expected the columns of {table}, got {fault}; {RETRY_HINT}"
            )
        if any(
            piece.without for piece in pieces.values()
        ):  # what was done again since lies behind its neighbours
            place = {sample: index for index, sample in enumerate(self.samples)}
            frame = frame.sort(
                pl.col("sample").replace_strict(place, return_dtype=pl.Int64), maintain_order=True
            )
        return frame

    def _piece_rows(
        self, table: str, name: str, piece: Piece, is_read: ColumnFilter
    ) -> pl.DataFrame:
        file = self._piece_file(table, name)
        source: Path | bytes = file
        if file not in self._verified:
            source = file.read_bytes()
            if sha256(source) != piece.files[table]:
                raise StoreError(
                    f"{file} is damaged: its SHA-256 is not the one in {PIECES_LEDGER}; {RETRY_HINT}"
                )
        self._verified.add(file)
        rows = scan_file(source, file, is_read)
        if piece.without:
            return rows.filter(~pl.col("sample").is_in([self.samples[i] for i in piece.without]))
        return rows

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
        file = self.folder / PIECES_LEDGER
        noted = (
            read_ledger(file)
            if file.is_file() and file.stat().st_size
            else LedgerContents(None, {})
        )
        return self._sound(self._parsed(noted.done), noted.doubtful)

    def _sound(self, pieces: dict[str, Piece], doubtful: Set[str]) -> dict[str, Piece]:
        """Refuse pieces about which a damaged line may have said more: that some of their samples were done again."""
        if lost := sorted(pieces.keys() & doubtful):
            raise StoreError(
                f"{self.folder / PIECES_LEDGER}: a line is damaged, and may have said more of {', '.join(lost[:3])}; {RETRY_HINT}"
            )
        return pieces

    def _parsed(self, noted: Mapping[str, Any]) -> dict[str, Piece]:
        try:
            pieces = {
                name: msgspec.convert(told, Piece)
                for name, told in noted.items()
                if told is not None
            }
        except msgspec.ValidationError as error:
            raise StoreError(
                f"{self.folder / PIECES_LEDGER}: {error}; it is damaged or of a later version"
            ) from error
        for name, piece in pieces.items():
            # Names become paths of files that are read and removed.
            is_ours = _PIECE.fullmatch(name) and piece.files.keys() <= set(TABLES)
            is_inside = 0 <= piece.first < piece.stop <= len(self.samples)
            if not (
                is_ours
                and is_inside
                and all(piece.first <= index < piece.stop for index in piece.without)
            ):
                raise StoreError(
                    f"{self.folder / PIECES_LEDGER}: expected pieces of this run, got {name[:80]!r}; it is damaged"
                )
        replaced = {old for piece in pieces.values() for old in piece.replaces}
        return dict(
            sorted(
                ((n, p) for n, p in pieces.items() if n not in replaced),
                key=lambda one: one[1].first,
            )
        )

    def _loose(self) -> list[int]:
        """Return the places of loose samples, ascending."""
        names = (file.stem for file in (self.folder / "records").glob("*.parquet"))
        return sorted(
            int(name) for name in names if name.isdecimal() and int(name) < len(self.samples)
        )

    def _loose_file(self, table: str, index: int) -> Path:
        return self.folder / table / f"{index:06d}.parquet"

    def _piece_file(self, table: str, name: str) -> Path:
        return self.folder / table / f"{name}.parquet"


def sample_files(frames: Mapping[str, pl.DataFrame]) -> dict[str, bytes]:
    """Return the files of one sample by table, from its rows."""
    return {
        table: seal_parquet(parquet_bytes(frame))
        for table, frame in frames.items()
        if frame.height or table not in OPTIONAL_TABLES
    }


def has_sample(pieces: Mapping[str, Piece], index: int) -> bool:
    """Tell whether a piece has the sample at `index`."""
    return any(p.first <= index < p.stop and index not in p.without for p in pieces.values())
