"""Test whether the disk of the data folder is writable."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

CHECK_EVERY_S = 5.0
"""Minimum seconds between two tests.

Anybody may request the readiness, and a flush for each request would keep the disk busy.
"""

_TRIAL_BYTES = 64 * 1024
"""More than file systems store inside directory entries, so that a full disk is noticed; turns need even more."""


class DiskCheck:
    """Writes and flushes a small temporary file in a folder, at most once every few seconds.

    Args:
        folder: the folder to test.
        clock: returns seconds; monotonic.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._lock = threading.Lock()
        self._valid_until: float | None = None
        self._fault = ""

    def fault(self) -> str:
        """Return why the disk is not writable, without naming a path, or "" if it is writable."""
        with self._lock:
            now = self._clock()
            if self._valid_until is None or now >= self._valid_until:
                self._fault = self._write()
                self._valid_until = self._clock() + CHECK_EVERY_S
            return self._fault

    def _write(self) -> str:
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                # Random bytes, because file systems that compress would store zeros without using
                # space.
                file.write(os.urandom(_TRIAL_BYTES))
                file.flush()
                # Some file systems only report a full disk when data are flushed to it.
                os.fsync(file.fileno())
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else "unknown error"
            return f"the data folder cannot be written: {reason}"
        return ""
