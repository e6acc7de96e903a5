"""Log of a worker's output."""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO

from segarena.errors import PluginInvalid

LAST_LINES = 20
"""Number of lines of output that a failure message quotes."""

_LINE_BYTES = 300
_READ_BYTES = 2**16
_WAIT_S = 0.2


class WorkerLog:
    """Output of a worker: keeps the last lines in memory, and appends all output to the log file, if any.

    After `MOST_BYTES`, no further output is written to the file.
    """

    MOST_BYTES = 64 * 2**20

    def __init__(self, source: IO[bytes], file: BinaryIO | None) -> None:
        self._source = source
        self._lines = deque[str](maxlen=LAST_LINES)
        self._file = file
        self._unfinished = b""
        self._written = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def last_lines(self) -> list[str]:
        """Return the last lines, after a short wait for output that is still in the pipe."""
        self._thread.join(_WAIT_S)
        return list(self._lines)

    def add(self, printed: bytes) -> None:
        """Add output; a line may arrive in several parts."""
        # Progress bars end their lines with carriage returns.
        text = (self._unfinished + printed).replace(b"\r", b"\n")
        *lines, unfinished = text.split(b"\n")
        self._unfinished = unfinished[-_LINE_BYTES:]
        for line in lines:
            if line.strip():
                self._lines.append(line[:_LINE_BYTES].decode(errors="replace"))
        if self._file is not None and self._written < self.MOST_BYTES:
            try:
                self._written += self._file.write(printed)
            except OSError:
                # Even if the disk is full, output must be read, because a full pipe would block the
                # worker.
                self._written = self.MOST_BYTES

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while True:
                printed = os.read(self._source.fileno(), _READ_BYTES)
                if not printed:
                    break
                self.add(printed)
        self.add(b"\n" if self._unfinished else b"")
        self._source.close()
        if self._file is not None:
            self._file.close()


def open_log(file: str) -> BinaryIO | None:
    """Open a log file for appending; return None for an empty name.

    Raises:
        PluginInvalid: the file cannot be written.
    """
    if not file:
        return None
    try:
        return Path(file).open("ab", buffering=0)
    except OSError as error:
        raise PluginInvalid(f"worker: log={file!r} cannot be written: {error.strerror}") from error
