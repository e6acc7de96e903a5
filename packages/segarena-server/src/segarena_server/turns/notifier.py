"""Telling requests that wait: at once within this process; between processes the table is looked at now and then."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Generator, Hashable
from contextlib import contextmanager, suppress


class Listener:
    """One request that waits."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Return when there is news, or when the time is up."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
        self._event.clear()

    def wake(self) -> None:
        """Say that there is news; from any thread."""
        self._loop.call_soon_threadsafe(self._event.set)


class Notifier:
    """Who waits for what."""

    def __init__(self) -> None:
        self._listeners: defaultdict[Hashable, set[Listener]] = defaultdict(set)
        self._lock = threading.Lock()

    @property
    def is_quiet(self) -> bool:
        """Whether nobody waits for anything."""
        return not self._listeners

    @contextmanager
    def about(self, what: Hashable) -> Generator[Listener]:
        """Give a listener that hears whatever is told about `what` from now on."""
        listener = Listener()
        with self._lock:
            self._listeners[what].add(listener)
        try:
            yield listener
        finally:
            with self._lock:
                self._listeners[what].discard(listener)
                if not self._listeners[what]:
                    del self._listeners[what]

    def tell(self, what: Hashable) -> None:
        """Wake whoever waits; from any thread."""
        with self._lock:
            waiting = list(self._listeners.get(what, ()))
        for listener in waiting:
            listener.wake()
