"""Pictures that were drawn once: files by a hash, made by a process of their own within limits. All may be deleted.

PICTURES/ab/abcd...   what `segarena_server.runs.image_rendering` came to, the least looked at deleted when there is too much
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from segarena.errors import SegarenaError, StoreError
from segarena.files.atomic_write import write_atomic
from segarena.files.hashes import sha256
from segarena.version import __version__
from segarena.work.jobs import UnitResult
from segarena.work.persistent_process import PersistentProcess
from segarena_server.http import http_errors
from segarena_server.runs.image_rendering import ImageRenderer, Rendering
from segarena_server.settings import Limits

LOG = logging.getLogger("segarena_server")
MOST_BYTES = 2 * 2**30
_MOST_WAITING = 40
_IDLE_S = 120.0
"""After so long without a drawing the process is ended, with the datasets that it holds."""
_AGAIN_S = 60.0
"""So long what could not be drawn is not tried again."""


class ImageCache:
    """Keeps pictures, and draws those that are not there.

    Args:
        folder: where they are kept.
        limits: of one drawing, as of one evaluation.
        most_bytes: that the folder may take.
    """

    def __init__(self, folder: Path, limits: Limits, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._limits = limits
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._asked: dict[str, Future[bytes]] = {}
        self._failed: dict[str, tuple[float, str]] = {}
        self._waiting: queue.SimpleQueue[tuple[str, Callable[[], Rendering]] | None] = (
            queue.SimpleQueue()
        )
        self._thread: threading.Thread | None = None

    def picture(
        self, about: tuple[object, ...], drawing: Callable[[], Rendering], wait_s: float
    ) -> bytes | None:
        """Return what was drawn; None while it is being drawn for longer than `wait_s`.

        Args:
            about: what it depends on; equal ones are one picture.
            drawing: what is to be drawn, asked for if it is not there; from another thread.
            wait_s: so long this waits.

        Raises:
            Refusal: too much waits to be drawn.
            SegarenaError: it cannot be drawn.
        """
        name = sha256(repr((__version__, *about)))
        path = self._folder / name[:2] / name
        with suppress(OSError):
            content = path.read_bytes()
            os.utime(path)
            return content
        asked = self._ask(name, drawing)
        with suppress(TimeoutError):
            return asked.result(wait_s)
        return None

    def stop(self) -> None:
        """End when the drawing under way is done."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join(self._limits.hard_s)

    def _ask(self, name: str, drawing: Callable[[], Rendering]) -> Future[bytes]:
        """Return what will be drawn; what is asked for twice is drawn once."""
        with self._lock:
            known = self._asked.get(name)
            if known is not None:
                return known
            at, why = self._failed.get(name, (0.0, ""))
            if why and time.monotonic() - at < _AGAIN_S:
                raise SegarenaError(why)
            if len(self._asked) >= _MOST_WAITING:
                raise http_errors.busy(
                    "too many pictures wait to be drawn; look again later", _AGAIN_S
                )
            asked = self._asked[name] = Future[bytes]()
            self._waiting.put((name, drawing))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
            return asked

    def _work(self) -> None:
        """Draw one after the other, in a process that is ended when nothing was drawn for a while."""
        process = PersistentProcess(
            ImageRenderer(self._limits.soft_s, self._limits.hard_s), self._limits.hard_s
        )
        try:
            while True:
                try:
                    wanted = self._waiting.get(timeout=_IDLE_S)
                except queue.Empty:
                    process.end()
                    continue
                if wanted is None:
                    return
                self._draw(process, *wanted)
        finally:
            process.end()

    def _draw(
        self,
        process: PersistentProcess[Rendering, bytes],
        name: str,
        drawing: Callable[[], Rendering],
    ) -> None:
        try:
            outcome = process.do(drawing())
            content, error = (
                (outcome.result, None) if isinstance(outcome, UnitResult) else (b"", outcome.error)
            )
        except Exception as fault:  # a thread that ends draws nothing any more
            content = b""
            error = fault
        if error is None:
            self._keep(name, content)
        else:
            LOG.error("a picture could not be drawn: %s", error)
        with self._lock:
            asked = self._asked.pop(name)
            if error is not None:
                self._failed = {
                    **dict(list(self._failed.items())[-_MOST_WAITING:]),
                    name: (time.monotonic(), f"{error}"),
                }
        if error is None:
            asked.set_result(content)
        else:
            asked.set_exception(
                error if isinstance(error, SegarenaError) else SegarenaError(str(error))
            )

    def _keep(self, name: str, content: bytes) -> None:
        try:
            write_atomic(self._folder / name[:2] / name, content)
            self._make_room()
        except (StoreError, OSError) as error:  # it is drawn again, then
            LOG.warning("a picture could not be kept: %s", error)

    def _make_room(self) -> None:
        """Delete what nobody looked at for longest, down to three quarters, when there is too much."""
        files = [
            (stat.st_mtime, stat.st_size, path)
            for path in self._folder.glob("??/*")
            if (stat := _stat(path))
        ]
        left = sum(size for _, size, _ in files)
        if left <= self._most_bytes:
            return
        for _, size, path in sorted(files):
            if left <= 0.75 * self._most_bytes:
                return
            path.unlink(missing_ok=True)
            left -= size


def _stat(path: Path) -> os.stat_result | None:
    with suppress(OSError):
        return path.stat()
    return None
