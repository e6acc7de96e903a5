"""The file of a single finished sample: its rows of all tables as MessagePack, after their SHA-256.

Building six Parquet files of a few rows each would take longer than the dialogues of a small sample. This module does
not import Polars, so that processes that only run dialogues start without it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import GenericAlias
from typing import Any, TypeAlias

import msgspec

from segarena.errors import StoreError
from segarena.files.atomic_write import write_atomic
from segarena.files.hashes import sha256
from segarena.records.row_types import ROW_TYPES, Row, python_value

SAMPLE_SUFFIX = ".msgpack"
"""Suffix of the file of a single sample; files of earlier versions, one for each table, end in ".parquet"."""

RETRY_HINT = "repeat the command of the run with --retry-damaged to run its samples again"

SYNC_S = 1.0
"""Shortest time in seconds between two flushes of the names of new files to disk."""

_HEADER = b"segarena sample 1\n"
_DIGEST_BYTES = 32
_ROWS_START = len(_HEADER) + _DIGEST_BYTES

PackedSample: TypeAlias = Mapping[str, msgspec.Raw]
"""The rows of a sample by table, not yet decoded."""


@dataclass(slots=True)
class SampleFileWriter:
    """Writes the files of finished samples into a run folder; any number of processes may do so at once.

    A file is flushed to disk before it gets its name. The names are flushed when a file is written, at most once a
    second. A killed process loses no finished sample. A power failure may lose the samples since the last flush of the
    names, which then run again.

    Attributes:
        folder: folder of the run.
    """

    folder: Path
    # Time of `time.monotonic` at which the names were last flushed.
    _synced: float = -SYNC_S

    def write(self, index: int, data: bytes) -> None:
        """Write the file of the sample at `index`, made by `pack_rows`; this marks the sample as done.

        Raises:
            StoreError: the disk is full or cannot be written. Samples written earlier are unaffected.
        """
        sync_folder = time.monotonic() - self._synced >= SYNC_S
        write_atomic(sample_file(self.folder, index), data, sync_folder=sync_folder)
        if sync_folder:
            self._synced = time.monotonic()


def sample_file(folder: Path, index: int) -> Path:
    """Return the path of the file of the sample at `index` in the run folder `folder`."""
    return folder / "records" / f"{index:06d}{SAMPLE_SUFFIX}"


def pack_rows(tables: Mapping[str, Sequence[Row]]) -> bytes:
    """Serialize the rows of a sample, by table, with their SHA-256."""
    filled = {table: rows for table, rows in tables.items() if rows}
    rows = msgspec.msgpack.encode(filled, enc_hook=python_value)
    return _HEADER + bytes.fromhex(sha256(rows)) + rows


def sample_fault(data: bytes) -> str:
    """Return why the file of a sample is damaged; "" if it is not."""
    if not data.startswith(_HEADER):
        return "it does not begin like the file of a sample"
    if bytes.fromhex(sha256(data[_ROWS_START:])) != data[len(_HEADER) : _ROWS_START]:
        return "its SHA-256 does not match the stored one"
    return ""


def read_sample_file(file: Path) -> PackedSample:
    """Return the rows of a sample after verifying their checksum.

    Raises:
        StoreError: the file is damaged.
        FileNotFoundError: there is no such file.
    """
    data = file.read_bytes()
    fault = sample_fault(data)
    if fault:
        raise StoreError(f"{file} is damaged: {fault}; {RETRY_HINT}")
    try:
        return msgspec.msgpack.decode(data[_ROWS_START:], type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise StoreError(f"{file} is damaged ({error}); {RETRY_HINT}") from error


def unpack_rows(table: str, packed: PackedSample) -> list[Row]:
    """Return the rows of one table of a sample.

    Raises:
        msgspec.MsgspecError: the rows are not those of the table.
    """
    if table not in packed:
        return []
    # Type checkers accept no list[...] of a type that is known only at run time.
    type_of_rows: Any = GenericAlias(list, (ROW_TYPES[table],))
    return msgspec.msgpack.decode(packed[table], type=type_of_rows)
