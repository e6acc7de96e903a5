"""Everything that was submitted, a line each, on disk before the participant goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec

from segarena.errors import StoreError
from segarena.systems.videos.session.submissions import Submission
from segarena.work.ledger import encode_line, is_intact_line


class SessionJournal:
    """A file of JSON lines, each with its checksum, that is only ever added to.

    A line that was cut off when the process was killed is taken away when the file is opened again. Earlier versions
    wrote no checksums; their lines are taken as they are.

    Args:
        path: of the file; made when it is not there.

    Raises:
        StoreError: a line that is whole is damaged, or the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries, whole = read_entries(path)
        try:
            self._file = path.open("r+b" if path.is_file() else "w+b")
            self._file.truncate(whole)
            self._file.seek(whole)
        except OSError as error:
            raise StoreError(
                f"{path} cannot be written: {error.strerror}; choose another folder"
            ) from error

    def take_entries(self) -> list[Submission]:
        """Return what was there when the file was opened; a second time, nothing."""
        entries = self._entries
        self._entries = []
        return entries

    def add(self, entry: Submission) -> None:
        """Write one entry; it is on disk when this returns.

        Raises:
            StoreError: the disk is full. What was written before stays.
        """
        place = self._file.tell()
        try:
            self._file.write(encode_line(entry))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(place)
            raise StoreError(
                f"{self._path} cannot be written: {error.strerror}; make room and start again, "
                "the session goes on before this submission"
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_entries(path: Path) -> tuple[list[Submission], int]:
    """Return what is in a journal, which need not exist, and how many bytes of it are whole lines.

    Raises:
        StoreError: a line that is whole is damaged.
    """
    data = path.read_bytes() if path.is_file() else b""
    whole = data.rfind(b"\n") + 1
    lines = data[:whole].splitlines()
    try:
        if any(map(is_intact_line, lines)) and not all(map(is_intact_line, lines)):
            raise ValueError("a line is not as it was written")
        return msgspec.convert([json.loads(line) for line in lines], list[Submission]), whole
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise StoreError(
            f"{path} is damaged ({error}); begin a session in another folder"
        ) from error
