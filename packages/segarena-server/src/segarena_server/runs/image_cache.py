"""Cache of rendered images; a separate process renders them within time limits.

PICTURES/ab/abcd...   images of `segarena_server.runs.image_rendering`, by hash; all may be deleted
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
from segarena_server import http_errors
from segarena_server.runs.image_rendering import ImageRenderer, Rendering
from segarena_server.settings import Limits
from segarena_server.site import Site

LOG = logging.getLogger("segarena_server")
MAX_BYTES = 2 * 2**30
_MAX_QUEUE_LENGTH = 40
_IDLE_S = 120.0
"""Idle time after which the process ends, because it keeps datasets in memory."""
_RETRY_S = 60.0
"""Seconds before a failed image may be rendered again."""


class ImageCache:
    """Returns images from files, and renders missing ones in the background.

    Args:
        folder: folder of the image files.
        limits: time limits of one rendering, the same as of an evaluation.
        most_bytes: maximum size of the folder.
    """

    def __init__(
        self,
        folder: Path,
        limits: Limits,
        most_bytes: int = MAX_BYTES,
    ) -> None:
        self._folder = folder
        self._limits = limits
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._futures: dict[str, Future[bytes]] = {}
        self._failed: dict[str, tuple[float, str]] = {}
        self._waiting: queue.SimpleQueue[tuple[str, Callable[[], Rendering]] | None] = (
            queue.SimpleQueue()
        )
        self._thread: threading.Thread | None = None
        self._is_stopping = False

    def picture(
        self,
        about: tuple[object, ...],
        drawing: Callable[[], Rendering],
        wait_s: float,
    ) -> bytes | None:
        """Return an image, or None if rendering takes longer than `wait_s`.

        Args:
            about: cache key, everything that the image depends on.
            drawing: returns the rendering request; called from another thread if the image is not cached.
            wait_s: maximum waiting time in seconds.

        Raises:
            Refusal: the queue is full.
            SegarenaError: the rendering failed.
        """
        # Include the version, because a new version may render the same dialogue differently.
        name = sha256(repr((__version__, *about)))
        path = self._folder / name[:2] / name
        with suppress(OSError):
            content = path.read_bytes()
            # The modification time records the last use, because many file systems do not update
            # the access time.
            os.utime(path)
            return content
        future = self._submit(name, drawing)
        with suppress(TimeoutError):
            return future.result(wait_s)
        return None

    def stop(self) -> None:
        """End the thread after the current rendering; wait for it at most as long as one rendering may take."""
        self._is_stopping = True
        if self._thread is not None:
            self._waiting.put(None)  # wakes an idle thread
            self._thread.join(self._limits.hard_s)

    def _submit(self, name: str, drawing: Callable[[], Rendering]) -> Future[bytes]:
        """Return the future image; requests for the same image share one rendering."""
        with self._lock:
            known = self._futures.get(name)
            if known is not None:
                return known
            at, why = self._failed.get(name, (0.0, ""))
            if why and time.monotonic() - at < _RETRY_S:
                raise SegarenaError(why)
            if len(self._futures) >= _MAX_QUEUE_LENGTH:
                raise http_errors.busy(
                    "too many images are waiting to be rendered; try again later", _RETRY_S
                )
            future = Future[bytes]()
            self._futures[name] = future
            self._waiting.put((name, drawing))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
            return future

    def _work(self) -> None:
        """Render the queue in order, in a process that ends when idle."""
        process = PersistentProcess(
            ImageRenderer(self._limits.soft_s, self._limits.hard_s), self._limits.hard_s
        )
        try:
            while True:
                try:
                    request = self._waiting.get(timeout=_IDLE_S)
                except queue.Empty:
                    process.end()
                    continue
                if request is None or self._is_stopping:
                    return
                self._render(process, *request)
        finally:
            process.end()

    def _render(
        self,
        process: PersistentProcess[Rendering, bytes],
        name: str,
        drawing: Callable[[], Rendering],
    ) -> None:
        try:
            outcome = process.do(drawing())
            if isinstance(outcome, UnitResult):
                content = outcome.result
                error = None
            else:
                content = b""
                error = outcome.error
        except Exception as fault:
            # Any error ends only this rendering, because the thread must continue.
            content = b""
            error = fault
        if error is None:
            self._keep(name, content)
        else:
            LOG.error("an image could not be rendered: %s", error)
        with self._lock:
            future = self._futures.pop(name)
            if error is not None:
                # Remember only the latest failures, to bound the memory.
                latest = list(self._failed.items())[-_MAX_QUEUE_LENGTH:]
                self._failed = {**dict(latest), name: (time.monotonic(), f"{error}")}
        if error is None:
            future.set_result(content)
        elif isinstance(error, SegarenaError):
            future.set_exception(error)
        else:
            future.set_exception(SegarenaError(str(error)))

    def _keep(self, name: str, content: bytes) -> None:
        try:
            write_atomic(self._folder / name[:2] / name, content)
            self._make_room()
        except (StoreError, OSError) as error:
            # Not fatal: the next request renders the image again.
            LOG.warning("an image could not be stored: %s", error)

    def _make_room(self) -> None:
        """If the maximum is exceeded, delete the least recently used images down to three quarters of it."""
        files: list[tuple[float, int, Path]] = []
        for path in self._folder.glob("??/*"):
            stat = _stat(path)
            if stat is not None:
                files.append((stat.st_mtime, stat.st_size, path))
        left = sum(size for _, size, _ in files)
        if left <= self._most_bytes:
            return
        for _, size, path in sorted(files):
            if left <= 0.75 * self._most_bytes:
                return
            path.unlink(missing_ok=True)
            left -= size


def image_cache(site: Site) -> ImageCache:
    """Return the image cache of a site; it stops together with the site."""

    def make() -> ImageCache:
        cache = ImageCache(site.folder.pictures, site.settings.limits)
        site.at_end.append(cache.stop)
        return cache

    return site.shared(ImageCache, make)


def _stat(path: Path) -> os.stat_result | None:
    with suppress(OSError):
        return path.stat()
    return None
