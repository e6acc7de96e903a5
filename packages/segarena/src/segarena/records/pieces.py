"""Tables of a run on disk: files of single samples ("loose" files), which are compacted into pieces during the run.

    records/000300.msgpack          a loose file: the rows of one sample in all tables
    records/000000-000255.parquet   a piece: the rows of many samples, in the order of the samples
    pieces.jsonl                    the ledger of pieces: the samples of each, and the SHA-256 of its files

A finished sample is one loose file (see `segarena.records.sample_file`); any number of processes may write them at
once. Earlier versions wrote a loose Parquet file to each table, records last. The process with the lock on the run
compacts loose files. It writes a piece to all tables, then adds it to the ledger, and only then removes the files that
it replaces. Therefore each sample is always in a piece of the ledger, in a loose file, or pending. The next process
with the lock removes any other files, which killed processes left behind.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from segarena.errors import StoreError
from segarena.files.hashes import sha256, sha256_of_file
from segarena.records.parquet_scan import (
    ColumnFilter,
    packed_frame,
    read_small_files,
    scan_file,
)
from segarena.records.parquet_tables import (
    COLUMNS,
    concat_frames,
    schema_fault,
    seal_fault,
    verify_seal,
)
from segarena.records.row_types import OPTIONAL_TABLES, REQUIRED_TABLES, TABLES
from segarena.records.sample_file import (
    RETRY_HINT,
    SAMPLE_SUFFIX,
    PackedSample,
    read_sample_file,
    sample_fault,
)
from segarena.work.ledger import LedgerContents, read_ledger

PIECES_LEDGER = "pieces.jsonl"
# First and last sample; the suffix makes the name unique if the same range is compacted again.
_PIECE = re.compile(r"[0-9]+-[0-9]+(\.[0-9]+)?")

FILE_SUFFIXES = (SAMPLE_SUFFIX, ".parquet")
"""Suffixes of the files of tables. Pieces are Parquet files, and loose files were in earlier versions."""

_BATCH_SAMPLES = 1024
"""Number of packed samples whose rows are decoded at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A range of samples that share files.

    Attributes:
        first, stop: the samples have the indices `first` to `stop` - 1.
        files: SHA-256 of the file of each table.
        without: indices of samples discarded after the piece was written; these are pending unless
            they have loose files.
        replaces: names of the pieces that were merged into this one.
    """

    first: int
    stop: int
    files: Mapping[str, str]
    without: tuple[int, ...] = ()
    replaces: tuple[str, ...] = ()

    def has(self, index: int) -> bool:
        """Return whether the sample at `index` is in the piece and was not discarded."""
        return self.first <= index < self.stop and index not in self.without


@dataclass(slots=True)
class Pieces:
    """The tables of a run on disk, for readers.

    Attributes:
        folder: folder of the run.
        samples: all sample ids, in order.
    """

    folder: Path
    samples: Sequence[str]
    _verified: set[Path] = field(default_factory=set[Path])

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
            columns: names of columns to read, some of which may not exist; None for all.
            without: names of columns to omit.
            only: indices of samples to read; files without any of them are not opened.

        Raises:
            StoreError: a file is damaged, or a file in the ledger is missing.
        """

        def is_read(name: str) -> bool:
            # Always read the sample column, which determines the order of the rows.
            if name == "sample":
                return True
            return (columns is None or name in columns) and name not in without

        rows = self._read_rows(table, is_read, only)
        existing = rows.columns
        if columns is not None:
            existing = [name for name in columns if name in rows.columns]
        return rows.select(name for name in existing if name not in without)

    def done(self) -> bytearray:
        """Return 1 for each finished sample and 0 for the others, using the ledger and one folder listing."""
        files = (self.folder / "records").glob("*")
        names = {file.stem for file in files if file.suffix in FILE_SUFFIXES}
        pieces = self._valid_pieces()
        # If the file of a piece was deleted, its samples are pending.
        existing = {name: piece for name, piece in pieces.items() if name in names}
        return self._covered(existing, names)

    def clear_incomplete(self) -> None:
        """Remove the loose files of samples without records, which killed processes of earlier versions left behind.

        This is only allowed while no process writes, because the records of a sample are written last.
        """
        with_records = {file.name for file in (self.folder / "records").glob("*.parquet")}
        for table in TABLES:
            for file in (self.folder / table).glob("*.parquet"):
                if file.stem.isdecimal() and file.name not in with_records:
                    file.unlink(missing_ok=True)

    def damaged(self) -> tuple[dict[Path, str], int]:
        """Return the damaged or missing files with the reason, and the number of files without a checksum."""
        found = self._damaged_pieces()
        unsealed = 0
        pieces = self._valid_pieces()
        for index, records in self._loose().items():
            # A killed process may have left loose files of a sample that is also in a piece.
            if has_sample(pieces, index):
                continue
            if records.suffix == SAMPLE_SUFFIX:
                fault = sample_fault(records.read_bytes())
                if fault:
                    found[records] = fault
                continue
            for table in TABLES:
                file = self.folder / table / records.name
                if not file.is_file():
                    if table in REQUIRED_TABLES:
                        found[file] = "it is missing"
                    continue
                data = file.read_bytes()
                fault = seal_fault(data)
                if fault:
                    found[file] = fault
                else:
                    unsealed += not verify_seal(data)
        return found, unsealed

    def _damaged_pieces(self) -> dict[Path, str]:
        """Return the damaged or missing files of pieces with the reason."""
        found: dict[Path, str] = {}
        for name, piece in self._valid_pieces().items():
            for table, expected in piece.files.items():
                file = self._piece_file(table, name)
                if not file.is_file():
                    found[file] = "it is missing"
                elif sha256_of_file(file) != expected:
                    found[file] = f"its SHA-256 is not the one in {PIECES_LEDGER}"
        return found

    def _read_rows(
        self,
        table: str,
        is_read: ColumnFilter,
        only: Collection[int] | None,
        tries: int = 3,
    ) -> pl.DataFrame:
        """Read the rows of a table; retry if another process compacts a file that was just listed."""
        try:
            if only is None:
                return self._rows(table, self._valid_pieces(), self._loose(), is_read)
            pieces = dict(self._valid_pieces())
            for name, piece in list(pieces.items()):
                # The file of such a piece need not be opened.
                if not any(piece.first <= index < piece.stop for index in only):
                    del pieces[name]
            loose = {index: file for index, file in self._loose().items() if index in only}
            wanted = [self.samples[index] for index in only]
            return self._rows(table, pieces, loose, is_read, wanted)
        except FileNotFoundError as error:
            # Another process may have compacted the file after the listing; a new listing finds the
            # piece.
            if tries > 1:
                return self._read_rows(table, is_read, only, tries - 1)
            raise StoreError(missing_file_text(error.filename or self.folder / table)) from error

    def _rows(
        self,
        table: str,
        pieces: Mapping[str, Piece],
        loose: Mapping[int, Path],
        is_read: ColumnFilter,
        wanted: Sequence[str] | None = None,
        packed: Mapping[Path, PackedSample] | None = None,
    ) -> pl.DataFrame:
        """Return the rows of pieces and loose files.

        Args:
            table: name of the table.
            pieces: the pieces by name.
            loose: files with the records of samples that have loose files, by index in ascending order.
            is_read: whether to read a column.
            wanted: ids of samples, to which the rows of pieces are restricted.
            packed: contents of the loose files, if they were read already.
        """
        # (index of the first sample, rows) for pieces and for sequences of loose files.
        found: list[tuple[int, pl.DataFrame]] = []
        for name, piece in pieces.items():
            if table in piece.files:
                rows = self._piece_rows(table, name, piece, is_read, wanted)
                found.append((piece.first, rows))
        starts = sorted(first for first, _ in found)
        # A killed process may have left loose files of samples in a piece, whose rows would then
        # count twice.
        alone = [index for index in loose if not has_sample(pieces, index)]
        # Read loose files between the same two pieces in one scan.
        for _, neighbours in groupby(alone, lambda index: bisect(starts, index)):
            indices = list(neighbours)
            files = [loose[index] for index in indices]
            frames = list(self._loose_frames(table, files, is_read, packed))
            found.append((indices[0], concat_frames(table, frames)))
        # Pieces and loose files were collected separately, so restore the order of the samples.
        found.sort(key=lambda one: one[0])
        frame = concat_frames(table, [rows for _, rows in found])
        fault = schema_fault(table, frame, filter(is_read, COLUMNS[table]))
        if fault:
            raise StoreError(
                f"{self.folder / table}: expected the columns of {table}, got {fault}; {RETRY_HINT}"
            )
        # Samples that were discarded from a piece and run again come after the piece, not within
        # it.
        has_discarded = any(piece.without for piece in pieces.values())
        if has_discarded:
            indices_by_sample = {sample: index for index, sample in enumerate(self.samples)}
            sample = pl.col("sample")
            index_of_row = sample.replace_strict(indices_by_sample, return_dtype=pl.Int64)
            frame = frame.sort(index_of_row, maintain_order=True)
        return frame

    def _loose_frames(
        self,
        table: str,
        files: Iterable[Path],
        is_read: ColumnFilter,
        packed: Mapping[Path, PackedSample] | None,
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows of samples with loose files, in their order."""
        for is_packed, group in groupby(files, lambda file: file.suffix == SAMPLE_SUFFIX):
            if is_packed:
                for batch in _batches(group, packed):
                    yield packed_frame(table, batch, is_read)
                continue
            own_files = [self.folder / table / file.name for file in group]
            # Samples without rows in an optional table have no file for it.
            if table in OPTIONAL_TABLES:
                own_files = [file for file in own_files if file.is_file()]
            yield from read_small_files(table, own_files, is_read)

    def _piece_rows(
        self,
        table: str,
        name: str,
        piece: Piece,
        is_read: ColumnFilter,
        wanted: Sequence[str] | None,
    ) -> pl.DataFrame:
        file = self._piece_file(table, name)
        source: Path | bytes = file
        # Verify the checksum once per reader, which reads the whole file; after that, only the
        # requested columns are read.
        if file not in self._verified:
            source = file.read_bytes()
            if sha256(source) != piece.files[table]:
                raise StoreError(
                    f"{file} is damaged: its SHA-256 is not the one in {PIECES_LEDGER}; {RETRY_HINT}"
                )
        self._verified.add(file)
        rows = scan_file(table, source, file, is_read, wanted)
        if not piece.without:
            return rows
        discarded = [self.samples[index] for index in piece.without]
        return rows.filter(~pl.col("sample").is_in(discarded))

    def _covered(self, pieces: Mapping[str, Piece], loose: Iterable[str]) -> bytearray:
        """Return 1 for each sample that is in one of these pieces or in `loose`."""
        covered = bytearray(len(self.samples))
        for piece in pieces.values():
            count = piece.stop - piece.first
            covered[piece.first : piece.stop] = b"\1" * count
            for index in piece.without:
                covered[index] = 0
        # Apply after the pieces, because a sample discarded from a piece may have loose files
        # again.
        for name in loose:
            # Names come from the disk, so the index may be beyond the samples of this run.
            if name.isdecimal() and int(name) < len(covered):
                covered[int(name)] = 1
        return covered

    def _valid_pieces(self) -> Mapping[str, Piece]:
        """Return the pieces that no other piece replaces, by name, in sample order."""
        file = self.folder / PIECES_LEDGER
        contents = LedgerContents(None, {})
        # An empty file has no header to read.
        if file.is_file() and file.stat().st_size:
            contents = read_ledger(file)
        return self._check_certain(self._parse(contents.done), contents.doubtful)

    def _check_certain(self, pieces: dict[str, Piece], doubtful: Set[str]) -> dict[str, Piece]:
        """Return the pieces; raise an error if a damaged line may have discarded some of their samples."""
        lost = sorted(pieces.keys() & doubtful)
        if lost:
            names = ", ".join(lost[:3])
            raise StoreError(
                f"{self.folder / PIECES_LEDGER}: a line is damaged, and may have changed {names}; {RETRY_HINT}"
            )
        return pieces

    def _parse(self, entries: Mapping[str, Any]) -> dict[str, Piece]:
        """Parse a ledger; return the pieces that no other piece replaces, in sample order."""
        pieces: dict[str, Piece] = {}
        try:
            for name, entry in entries.items():
                # A lost piece has an empty entry.
                if entry is not None:
                    pieces[name] = msgspec.convert(entry, Piece)
        except msgspec.ValidationError as error:
            raise StoreError(
                f"{self.folder / PIECES_LEDGER}: {error}; it is damaged, or a later version "
                "of segarena wrote it: update segarena"
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
        # Validate names, because they become paths of files to read and remove.
        if not _PIECE.fullmatch(name) or not piece.files.keys() <= set(TABLES):
            return False
        if not 0 <= piece.first < piece.stop <= len(self.samples):
            return False
        own_samples = range(piece.first, piece.stop)
        return all(index in own_samples for index in piece.without)

    def _loose(self) -> dict[int, Path]:
        """Return the file with the records of each sample that has loose files, by index in ascending order."""
        found: dict[int, Path] = {}
        for file in (self.folder / "records").glob("*"):
            # Names of pieces are not numbers.
            if file.stem.isdecimal() and file.suffix in FILE_SUFFIXES:
                index = int(file.stem)
                if index < len(self.samples):
                    found[index] = file
        return dict(sorted(found.items()))

    def _piece_file(self, table: str, name: str) -> Path:
        return self.folder / table / f"{name}.parquet"


def _batches(
    files: Iterable[Path],
    packed: Mapping[Path, PackedSample] | None,
) -> Iterator[list[tuple[Path, PackedSample]]]:
    """Yield packed samples in batches whose decoded rows fit into memory; files that are not in `packed` are read."""
    batch: list[tuple[Path, PackedSample]] = []
    for file in files:
        rows = read_sample_file(file) if packed is None else packed[file]
        batch.append((file, rows))
        if len(batch) == _BATCH_SAMPLES:
            yield batch
            batch = []
    if batch:
        yield batch


def missing_file_text(file: str | Path) -> str:
    """State that a file of a run is missing, and what to do."""
    return f"{file} is missing; repeat the command of the run to run its samples again"


def has_sample(pieces: Mapping[str, Piece], index: int) -> bool:
    """Return whether a piece contains the sample at `index`."""
    return any(piece.has(index) for piece in pieces.values())
