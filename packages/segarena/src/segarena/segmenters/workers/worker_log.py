"""What a worker prints."""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO

from segarena.errors import PluginInvalid

LAST_LINES = 20
"""So many lines of what a worker printed are told when it fails."""

_LINE_LETTERS = 300
_WAIT_S = 0.2


class WorkerLog:
    """What a worker prints: the last lines are kept, and all of it goes to a file if one is named."""

    MOST_BYTES = 64 * 2**20

    def __init__(self, source: IO[bytes], file: BinaryIO | None) -> None:
        self._source = source
        self._lines = deque[str](maxlen=LAST_LINES)
        self._file = file
        self._rest = b""
        self._written = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def last_lines(self) -> list[str]:
        """Return the last lines; waits a moment for what is still on its way."""
        self._thread.join(_WAIT_S)
        return list(self._lines)

    def add(self, printed: bytes) -> None:
        """Add what was printed; lines that are not ended yet are put together."""
        *lines, rest = (self._rest + printed).replace(b"\r", b"\n").split(b"\n")
        self._rest = rest[-_LINE_LETTERS:]
        self._lines.extend(
            line[:_LINE_LETTERS].decode(errors="replace") for line in lines if line.strip()
        )
        if self._file is not None and self._written < self.MOST_BYTES:
            try:
                self._written += self._file.write(printed)
            except (
                OSError
            ):  # a full disk must not stop what is printed: the worker would wait for us
                self._written = self.MOST_BYTES

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while printed := os.read(self._source.fileno(), 65536):
                self.add(printed)
        self.add(b"\n" if self._rest else b"")
        self._source.close()
        if self._file is not None:
            self._file.close()


def open_log(file: str) -> BinaryIO | None:
    """Return a file that is appended to; None where none is named.

    Raises:
        PluginInvalid: it cannot be written.
    """
    if not file:
        return None
    try:
        return Path(file).open("ab", buffering=0)
    except OSError as error:
        raise PluginInvalid(f"worker: log={file!r} cannot be written: {error.strerror}") from error
