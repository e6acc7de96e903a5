"""The tables of a run on disk: loose files of single samples, which are compacted into pieces during the run.

    records/000300.parquet          a loose file: the rows of one sample
    records/000000-000255.parquet   a piece: the rows of many samples, in the order of the samples
    pieces.jsonl                    the ledger of pieces: the samples of each, and the SHA-256 of its files

A sample is written to all tables as loose files, records last; any number of processes may do that at once. The process
with the lock on the run compacts them. It writes a piece to all tables, then adds it to the ledger, and only then
removes the files that it replaces. So at every moment each sample is either in a piece of the ledger, or loose, or
pending. The next process with the lock removes other files, which a killed process left.
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
from segarena.files.atomic_write import write_atomic
from segarena.files.hashes import sha256, sha256_of_file
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
    """A range of samples that share files.

    Attributes:
        first, stop: the samples have the indices `first` to `stop` - 1.
        files: SHA-256 of the file by table.
        without: indices of samples discarded since then; these are pending unless they are loose.
        replaces: names of the pieces that it was made of.
    """

    first: int
    stop: int
    files: Mapping[str, str]
    without: tuple[int, ...] = ()
    replaces: tuple[str, ...] = ()


@dataclass(slots=True)
class Pieces:
    """The tables of a run on disk, for readers and for processes that add single samples.

    Attributes:
        folder: folder of the run.
        samples: all sample ids, in order.
    """

    folder: Path
    samples: Sequence[str]
    _verified: set[Path] = field(default_factory=set[Path])

    def write(self, index: int, files: Mapping[str, bytes]) -> None:
        """Write the files of a sample, made by `sample_files`; it is done then.

        Raises:
            StoreError: the disk is full or cannot be written. Samples written before stay.
        """
        # In the order of TABLES: the records, which mark the sample as done, come last.
        for table in TABLES:
            if table in files:
                write_atomic(self._loose_file(table, index), files[table])

    def read(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        *,
        without: Sequence[str] = (),
        only: Collection[int] | None = None,
    ) -> pl.DataFrame:
        """Return a table, or some of its columns, in the order of the samples.

        Args:
            table: name of the table.
            columns: names of the wanted columns, some of which may not exist; None for all.
            without: names of columns that are left out.
            only: indices of the wanted samples; files without any of them are not opened.

        Raises:
            StoreError: a file is damaged, or one that the ledger names is missing.
        """

        def is_read(name: str) -> bool:
            # Always with the sample, which decides the order of the rows.
            if name == "sample":
                return True
            return (columns is None or name in columns) and name not in without

        rows = self._read_rows(table, is_read, only)
        existing = rows.columns
        if columns is not None:
            existing = [name for name in columns if name in rows.columns]
        return rows.select(name for name in existing if name not in without)

    def done(self) -> bytearray:
        """Return 1 for each finished sample and 0 for the others, from the ledger and one folder listing."""
        names = {file.stem for file in (self.folder / "records").glob("*.parquet")}
        pieces = {name: piece for name, piece in self._valid_pieces().items() if name in names}
        return self._covered(pieces, names)

    def damaged(self) -> tuple[dict[Path, str], int]:
        """Return the damaged or missing files with the reason, and the number of files without a checksum."""
        found: dict[Path, str] = {}
        unsealed = 0
        pieces = self._valid_pieces()
        for name, piece in pieces.items():
            for table, expected in piece.files.items():
                file = self._piece_file(table, name)
                if not file.is_file():
                    found[file] = "it is missing"
                elif sha256_of_file(file) != expected:
                    found[file] = f"its SHA-256 is not the one in {PIECES_LEDGER}"
        for index in self._loose():
            # A killed process may have left loose files of a sample that a piece has.
            if has_sample(pieces, index):
                continue
            for table in TABLES:
                file = self._loose_file(table, index)
                try:
                    unsealed += file.is_file() and not verify_seal(file.read_bytes())
                except ValueError as error:
                    found[file] = str(error)
        return found, unsealed

    def _read_rows(
        self, table: str, is_read: ColumnFilter, only: Collection[int] | None, tries: int = 3
    ) -> pl.DataFrame:
        """Return the rows of a table; tries again if another process compacts a file that was just listed."""
        try:
            if only is None:
                return self._rows(table, self._valid_pieces(), self._loose(), is_read)
            pieces = dict(self._valid_pieces())
            for name, piece in list(pieces.items()):
                # Its file need not be opened.
                if not any(piece.first <= index < piece.stop for index in only):
                    del pieces[name]
            loose = [index for index in self._loose() if index in only]
            rows = self._rows(table, pieces, loose, is_read)
            wanted = [self.samples[index] for index in only]
            return rows.filter(pl.col("sample").is_in(wanted))
        except FileNotFoundError as error:
            if tries > 1:
                return self._read_rows(table, is_read, only, tries - 1)
            lost = error.filename or self.folder / table
            raise StoreError(
                f"{lost} is missing; the same command makes its samples again"
            ) from error

    def _rows(
        self, table: str, pieces: Mapping[str, Piece], loose: Sequence[int], is_read: ColumnFilter
    ) -> pl.DataFrame:
        # (index of the first sample, rows) of pieces and runs of loose files.
        found: list[tuple[int, pl.DataFrame]] = []
        for name, piece in pieces.items():
            if table in piece.files:
                found.append((piece.first, self._piece_rows(table, name, piece, is_read)))
        starts = sorted(first for first, _ in found)
        alone = [index for index in loose if not has_sample(pieces, index)]
        # Loose files between the same two pieces are read in one scan.
        for _, neighbours in groupby(alone, lambda index: bisect(starts, index)):
            indices = list(neighbours)
            files = [self._loose_file(table, index) for index in indices]
            if table in OPTIONAL_TABLES:
                files = [file for file in files if file.is_file()]
            if files:
                frames = list(read_small_files(table, files, is_read))
                found.append((indices[0], concat_frames(table, frames)))
        found.sort(key=lambda one: one[0])
        frame = concat_frames(table, [rows for _, rows in found])
        fault = schema_fault(table, frame, filter(is_read, COLUMNS[table]))
        if fault:
            raise StoreError(
                f"{self.folder / table}: expected the columns of {table}, got {fault}; {RETRY_HINT}"
            )
        # Samples discarded from a piece and run again come after the piece, not within it.
        if any(piece.without for piece in pieces.values()):
            indices_by_sample = {sample: index for index, sample in enumerate(self.samples)}
            index_of_row = pl.col("sample").replace_strict(indices_by_sample, return_dtype=pl.Int64)
            frame = frame.sort(index_of_row, maintain_order=True)
        return frame

    def _piece_rows(
        self, table: str, name: str, piece: Piece, is_read: ColumnFilter
    ) -> pl.DataFrame:
        file = self._piece_file(table, name)
        source: Path | bytes = file
        # Once per reader; from then on only the wanted columns are read.
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
        """Return 1 for each sample that is in one of these pieces, or is named in `loose`."""
        found = bytearray(len(self.samples))
        for piece in pieces.values():
            found[piece.first : piece.stop] = b"\1" * (piece.stop - piece.first)
            for index in piece.without:
                found[index] = 0
        for name in loose:
            if name.isdecimal() and int(name) < len(found):
                found[int(name)] = 1
        return found

    def _valid_pieces(self) -> Mapping[str, Piece]:
        """Return the pieces that are not replaced, by name, in the order of their samples."""
        file = self.folder / PIECES_LEDGER
        noted = (
            read_ledger(file)
            if file.is_file() and file.stat().st_size
            else LedgerContents(None, {})
        )
        return self._check_certain(self._parsed(noted.done), noted.doubtful)

    def _check_certain(self, pieces: dict[str, Piece], doubtful: Set[str]) -> dict[str, Piece]:
        """Return the pieces; raise if a damaged line may have discarded some of their samples."""
        lost = sorted(pieces.keys() & doubtful)
        if lost:
            names = ", ".join(lost[:3])
            raise StoreError(
                f"{self.folder / PIECES_LEDGER}: a line is damaged, and may have said more of {names}; {RETRY_HINT}"
            )
        return pieces

    def _parsed(self, entries: Mapping[str, Any]) -> dict[str, Piece]:
        """Return the pieces of a ledger that no other piece replaces, in the order of their samples."""
        pieces: dict[str, Piece] = {}
        try:
            for name, entry in entries.items():
                # A piece that was lost has an empty entry.
                if entry is not None:
                    pieces[name] = msgspec.convert(entry, Piece)
        except msgspec.ValidationError as error:
            raise StoreError(
                f"{self.folder / PIECES_LEDGER}: {error}; it is damaged or of a later version"
            ) from error
        replaced: set[str] = set()
        for name, piece in pieces.items():
            if not self._is_valid(name, piece):
                raise StoreError(
                    f"{self.folder / PIECES_LEDGER}: expected pieces of this run, got {name[:80]!r}; it is damaged"
                )
            replaced.update(piece.replaces)
        names = [name for name in pieces if name not in replaced]
        names.sort(key=lambda name: pieces[name].first)
        return {name: pieces[name] for name in names}

    def _is_valid(self, name: str, piece: Piece) -> bool:
        # Names become paths of files that are read and removed.
        if not _PIECE.fullmatch(name) or not piece.files.keys() <= set(TABLES):
            return False
        if not 0 <= piece.first < piece.stop <= len(self.samples):
            return False
        return all(piece.first <= index < piece.stop for index in piece.without)

    def _loose(self) -> list[int]:
        """Return the indices of loose samples, ascending."""
        found: list[int] = []
        for file in (self.folder / "records").glob("*.parquet"):
            # The names of pieces are no numbers.
            if file.stem.isdecimal():
                index = int(file.stem)
                if index < len(self.samples):
                    found.append(index)
        return sorted(found)

    def _loose_file(self, table: str, index: int) -> Path:
        return self.folder / table / f"{index:06d}.parquet"

    def _piece_file(self, table: str, name: str) -> Path:
        return self.folder / table / f"{name}.parquet"


def sample_files(frames: Mapping[str, pl.DataFrame]) -> dict[str, bytes]:
    """Return the Parquet files of one sample by table, from its rows."""
    return {
        table: seal_parquet(parquet_bytes(frame))
        for table, frame in frames.items()
        if frame.height or table not in OPTIONAL_TABLES
    }


def has_sample(pieces: Mapping[str, Piece], index: int) -> bool:
    """Return whether a piece has the sample at `index`."""
    return any(
        piece.first <= index < piece.stop and index not in piece.without
        for piece in pieces.values()
    )
