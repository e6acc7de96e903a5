"""Journal of submissions, one per line, each stored on disk before the participant continues."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec

from segarena.errors import StoreError
from segarena.systems.videos.session.session_serialization import Submission
from segarena.work.ledger import encode_line, is_intact_line


class SessionJournal:
    """An append-only file of JSON lines, each with a checksum.

    A line that was truncated when the process was killed is removed when the file is opened again.
    A file from an earlier version, in which no line has a checksum, is accepted.

    Args:
        path: the file; created unless it exists.

    Raises:
        StoreError: a complete line is damaged, or the file is not writable.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries, whole = read_entries(path)
        try:
            # Not "a+b", because after a crash the half-written last line must be cut off.
            mode = "r+b" if path.is_file() else "w+b"
            self._file = path.open(mode)
            self._file.truncate(whole)
            self._file.seek(whole)
        except OSError as error:
            raise StoreError(
                f"{path} cannot be written: {error.strerror}; choose another folder"
            ) from error

    def take_entries(self) -> list[Submission]:
        """Return the entries found when the file was opened; a second call returns none."""
        entries = self._entries
        self._entries = []
        return entries

    def add(self, entry: Submission) -> None:
        """Write one entry, which is stored on disk when this method returns.

        Raises:
            StoreError: the entry cannot be written, for example because the disk is full. Earlier
                entries are kept.
        """
        place = self._file.tell()
        try:
            self._file.write(encode_line(entry))
            self._file.flush()
            # Flushing reaches only the operating system; fsync makes the entry survive a power
            # failure.
            os.fsync(self._file.fileno())
        except OSError as error:
            # A full disk may have stored part of the line; without this, the next entry would be
            # appended to it.
            self._file.truncate(place)
            raise StoreError(
                f"{self._path} cannot be written: {error.strerror}; free disk space and start again: "
                "the session continues before this submission"
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_entries(path: Path) -> tuple[list[Submission], int]:
    """Return the entries of a journal, which may be missing, and the number of bytes in complete lines.

    Raises:
        StoreError: a complete line is damaged, or only some lines have checksums.
    """
    data = path.read_bytes() if path.is_file() else b""
    # Only complete lines end with a newline; a line cut off by a crash was never confirmed to the
    # participant.
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].splitlines()
    try:
        is_intact = [is_intact_line(line) for line in lines]
        if any(is_intact) and not all(is_intact):
            raise ValueError("checksum mismatch in a line")
        values = [json.loads(line) for line in lines]
        return msgspec.convert(values, list[Submission]), whole
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise StoreError(
            f"{path} is damaged ({error}); start a session in another folder"
        ) from error
