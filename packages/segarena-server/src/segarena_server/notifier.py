"""Notification of waiting requests within one process. Other processes poll the database instead."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Generator, Hashable
from contextlib import contextmanager, suppress


class Listener:
    """One waiting request."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Wait for a notification, for at most this many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
        self._event.clear()

    def wake(self) -> None:
        """Notify the request; callable from any thread."""
        # asyncio.Event is not thread-safe, and evaluation results arrive in other threads.
        self._loop.call_soon_threadsafe(self._event.set)


class Notifier:
    """The waiting requests by topic."""

    def __init__(self) -> None:
        self._listeners: defaultdict[Hashable, set[Listener]] = defaultdict(set)
        self._lock = threading.Lock()

    @property
    def is_quiet(self) -> bool:
        """Whether no request is waiting."""
        return not self._listeners

    @contextmanager
    def listen(self, topic: Hashable) -> Generator[Listener]:
        """Yield a listener that receives all notifications about a topic until the block ends."""
        listener = Listener()
        with self._lock:
            self._listeners[topic].add(listener)
        try:
            yield listener
        finally:
            with self._lock:
                self._listeners[topic].discard(listener)
                # Each turn is a topic, so a server that runs for months would otherwise keep one
                # empty set for each.
                if not self._listeners[topic]:
                    del self._listeners[topic]

    def notify(self, topic: Hashable) -> None:
        """Wake all listeners of a topic; callable from any thread."""
        with self._lock:
            # A copy, because `wake` is called without the lock and listeners come and go meanwhile.
            listeners = list(self._listeners.get(topic, ()))
        for listener in listeners:
            listener.wake()
