"""Rate limiter with a sliding window per key, within one process."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable

from segarena.work.lru_cache import LruCache

_MAX_KEYS = 10_000
"""Maximum number of keys in memory; the least recently used one is dropped first."""


class RateLimiter:
    """Limits the events per key in a sliding window, within this process.

    Args:
        most: maximum number of events in the window.
        within_s: length of the window in seconds.
        clock: returns seconds; monotonic.
    """

    def __init__(
        self,
        most: int,
        within_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._within_s = within_s
        self._clock = clock
        self._events = LruCache[Hashable, deque[float]](max_entries=_MAX_KEYS)
        self._lock = threading.Lock()

    def wait_s(self, *keys: Hashable) -> float:
        """Return the longest wait of these keys in seconds, or 0 if none has to wait."""
        with self._lock:
            now = self._clock()
            return max((self._wait_of(key, now) for key in keys), default=0.0)

    def count(self, *keys: Hashable) -> None:
        """Count an event for each key."""
        with self._lock:
            now = self._clock()
            for key in keys:
                # Only the newest events matter: the oldest of them tells when the next one is
                # allowed.
                moments = self._events.peek(key) or deque[float](maxlen=self._most)
                moments.append(now)
                self._events.put(key, moments)

    def _wait_of(self, key: Hashable, now: float) -> float:
        times = self._events.peek(key)
        if times is None or len(times) < self._most:
            return 0.0
        return max(0.0, times[0] + self._within_s - now)
