"""The ledger of long-running work: an append-only file with a line for each finished unit.

Each line is JSON and ends with its own checksum, so any tool can read the file and damage is
detected:

    {"ledger":1,"identity":{"seed":0},"crc":"1c291ca3"}
    {"unit":"cat.jpg","value":{"iou":0.5},"crc":"8a0b2f11"}

A line is passed to the operating system at once, so a killed process loses nothing. The lines are
flushed to disk with the first line that is added `sync_s` seconds or more after the last flush, so
a power failure may lose the units added since then; they run again. An incomplete last line is
removed and a damaged line is skipped, so that its unit runs again too.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple

from segarena.errors import RunConflict, StoreError
from segarena.files.atomic_write import write_atomic, write_error

LEDGER_FORMAT = 1
# The checksum is the last member of the JSON object, so that a line without this suffix is exactly
# the text that it covers.
_CRC = b',"crc":"%08x"}'
_CRC_LENGTH = len(_CRC % 0)
_LINES_AT_ONCE = 10_000
_encode = json.JSONEncoder(separators=(",", ":")).encode


class Ledger:
    """Finished units with a value for each; only one process may write to it at a time.

    Args:
        path: path of the file, which is created if it does not exist; None keeps the ledger in memory only.
        identity: identity of the work, in plain values: options, versions, hashes of inputs.
        sync_s: shortest time in seconds between two flushes to disk; 0 flushes each line before `add` returns.
        is_locked: whether to lock the file; False if another lock already excludes other processes, as
            in `segarena.work.sharing`.

    Attributes:
        done: the value of each finished unit, from its last line.
        doubtful: units whose last line precedes a damaged line, which may have changed them.

    Raises:
        RunConflict: the file belongs to different work (the message names the first difference), or
            another process uses it.
        StoreError: the file cannot be written, or is not a ledger.
    """

    def __init__(
        self,
        path: Path | None,
        identity: Mapping[str, Any],
        *,
        sync_s: float = 1.0,
        is_locked: bool = True,
    ) -> None:
        self.path = path
        self.done: dict[str, Any] = {}
        self.doubtful: frozenset[str] = frozenset()
        self._sync_s = sync_s
        self._synced = time.monotonic()
        self._file: BinaryIO | None = None
        if path is not None:
            self._file = open_exclusive(path) if is_locked else _open(path)
            # Close it here, because no caller can close the file if the constructor raises an
            # error.
            try:
                self._load(path, self._file, _plain(identity))
            except BaseException:
                self._file.close()
                raise

    def add(self, unit: str, value: Any = None) -> None:
        """Record a finished unit.

        Raises:
            StoreError: the disk is full. Earlier lines are unaffected.
        """
        self.done[unit] = value
        # Omit a value of None to keep lines short.
        self._append({"unit": unit} if value is None else {"unit": unit, "value": value})

    def sync(self) -> None:
        """Flush added lines to disk.

        Raises:
            StoreError: the disk is full.
        """
        if self._file is not None and self.path is not None:
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                raise write_error(self.path, error) from error
        self._synced = time.monotonic()

    def close(self) -> None:
        """Flush and close the file, so that other processes can open it."""
        if self._file is not None:
            try:
                self.sync()
            finally:
                self._file.close()
                self._file = None

    def discard(self) -> None:
        """Remove the file, because its contents are now stored elsewhere."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _load(
        self,
        path: Path,
        file: BinaryIO,
        identity: Any,
    ) -> None:
        data = file.read()
        whole = data.rfind(b"\n") + 1
        contents = _parse(path, data[:whole]) if whole else LedgerContents(None, {})
        existing, self.done, self.doubtful = contents
        if self.done:
            refuse_other_work(path, existing, identity)
        if existing == identity:
            file.truncate(whole)
            return
        # Either a new file, or a ledger of other work without a finished unit.
        file.truncate(0)
        self._append({"ledger": LEDGER_FORMAT, "identity": identity})
        self.sync()

    def _append(self, entry: Mapping[str, Any]) -> None:
        if self._file is None or self.path is None:
            return
        line = encode_line(entry)
        # Remember the end, to remove an incomplete line again.
        end = self._file.seek(0, os.SEEK_END)
        try:
            # The file is unbuffered, so a write may be partial when the disk runs full.
            if self._file.write(line) != len(line):
                raise OSError(28, "No space left on device")
        except OSError as error:
            self._file.truncate(end)
            raise write_error(self.path, error) from error
        if time.monotonic() - self._synced >= self._sync_s:
            self.sync()


class LedgerContents(NamedTuple):
    """The contents of a ledger; see `Ledger`."""

    identity: Any
    done: dict[str, Any]
    doubtful: frozenset[str] = frozenset()


def read_ledger(path: Path) -> LedgerContents:
    """Read a ledger without locking it; another process may be writing to it.

    Raises:
        StoreError: the file cannot be read, or is not a ledger.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error
    return _parse(path, data[: data.rfind(b"\n") + 1])


def upgrade_ledger(path: Path, read: Callable[[list[Any]], tuple[Any, dict[str, Any]]]) -> None:
    """Convert a JSON lines file of an earlier version to a ledger; leave a ledger unchanged.

    Args:
        path: the file, which need not exist.
        read: function that returns the identity and the finished units from the parsed lines.

    Raises:
        StoreError: the file cannot be written, or `read` cannot interpret the lines.
    """
    if not path.is_file():
        return
    # Text after the last line break is a line that a killed process did not finish.
    lines = path.read_bytes().split(b"\n")[:-1]
    if not lines or is_intact_line(lines[0]):
        return
    try:
        identity, done = read([json.loads(line) for line in lines])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise StoreError(
            f"{path}: expected a ledger of finished work, got something else; delete it"
        ) from error
    header = {"ledger": LEDGER_FORMAT, "identity": identity}
    encoded = [encode_line(header)]
    for unit, value in done.items():
        encoded.append(encode_line({"unit": unit, "value": value}))
    write_atomic(path, b"".join(encoded))


def refuse_other_work(
    path: Path,
    existing: Any,
    requested: Any,
) -> None:
    """Raise RunConflict if two descriptions of work differ, naming the first difference."""
    if existing != requested:
        where, has, wants = first_difference("", existing, requested)
        raise RunConflict(
            f"{path} contains work with {where} = {has}, but the requested work has {wants}; "
            "choose another --out, or repeat the options of that work"
        )


def first_difference(
    where: str,
    has: Any,
    wants: Any,
) -> tuple[str, str, str]:
    """Return the path of the first difference ("dataset.options.count") and both values there, truncated."""
    if isinstance(has, dict) and isinstance(wants, dict):
        # A merged dict keeps the key order, so that the reported difference is always the same one.
        for key in {**has, **wants}:
            old = has.get(key)
            new = wants.get(key)
            if old != new:
                inner = f"{where}.{key}" if where else key
                return first_difference(inner, old, new)
    if isinstance(has, list) and isinstance(wants, list):
        for index, (old, new) in enumerate(zip(has, wants, strict=False)):
            if old != new:
                return first_difference(f"{where}[{index}]", old, new)
        return where, f"{len(has)} entries", f"{len(wants)} entries"
    return where, json.dumps(has)[:80], json.dumps(wants)[:80]


def open_exclusive(path: Path) -> BinaryIO:
    """Open a file and lock it exclusively until it is closed; create it if it does not exist.

    Raises:
        RunConflict: another process holds the lock.
        StoreError: the file cannot be created or read.
    """
    file = _open(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise RunConflict(
            f"{path.parent} is in use by another process; wait for it or choose another --out"
        ) from error
    return file


def _open(path: Path) -> BinaryIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Append mode creates the file without truncating it, because another process may hold its
        # lock.
        file = path.open("a+b", buffering=0)
    except OSError as error:
        raise write_error(path, error) from error
    file.seek(0)
    return file


def _parse(path: Path, data: bytes) -> LedgerContents:
    every = data.splitlines()
    # Skip damaged lines instead of failing, so that only their units run again.
    lines = [line for line in every if is_intact_line(line)]
    done: dict[str, Any] = {}
    try:
        head = json.loads(lines[0])
        if head["ledger"] != LEDGER_FORMAT:
            raise StoreError(
                f"{path}: written by a later version of segarena (format {head['ledger']}); update segarena"
            )
        # Parse thousands of lines at a time: one by one takes twice as long, and all at once slows
        # down the garbage collector.
        for start in range(1, len(lines), _LINES_AT_ONCE):
            entries = json.loads(b"[" + b",".join(lines[start : start + _LINES_AT_ONCE]) + b"]")
            done.update((entry["unit"], entry.get("value")) for entry in entries)
        has_damage = len(lines) < len(every)
        doubtful = _doubtful(every) if has_damage else frozenset[str]()
        return LedgerContents(head["identity"], done, doubtful)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise StoreError(
            f"{path}: expected a ledger of finished work, got something else; delete it"
        ) from error


def _doubtful(lines: list[bytes]) -> frozenset[str]:
    """Return the units that have no line after the last damaged line."""
    last = max(index for index, line in enumerate(lines) if not is_intact_line(line))
    return frozenset(_units_in(lines[:last]) - _units_in(lines[last:]))


def _units_in(lines: list[bytes]) -> set[str]:
    entries = [json.loads(line) for line in lines if is_intact_line(line)]
    # The first line of a ledger has no unit.
    return {entry["unit"] for entry in entries if entry.get("unit") is not None}


def encode_line(entry: Mapping[str, Any]) -> bytes:
    """Encode an entry as a JSON line that ends with its own CRC-32."""
    body = _encode(entry).encode()[:-1]
    return body + _CRC % zlib.crc32(body) + b"\n"


def is_intact_line(line: bytes) -> bool:
    """Return whether the checksum of a line, given without its newline, matches."""
    body = line[:-_CRC_LENGTH]
    crc = line[-_CRC_LENGTH:]
    return crc == _CRC % zlib.crc32(body)


def _plain(value: Any) -> Any:
    # A round trip through JSON turns tuples into lists, for comparison with values read from a
    # file.
    return json.loads(json.dumps(value))
