"""How often someone may do something: a count in a sliding window, for each name and each address."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable

from segarena.work.lru_cache import LruCache

_MOST_KNOWN = 10_000
"""So many are remembered; whoever was seen longest ago is forgotten first."""


class RateLimiter:
    """Allows so many events in so many seconds for each key. Of this process alone.

    Args:
        most: events.
        within_s: seconds.
        clock: monotonic.
    """

    def __init__(
        self, most: int, within_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._within_s = within_s
        self._clock = clock
        self._seen = LruCache[Hashable, deque[float]](max_entries=_MOST_KNOWN)
        self._lock = threading.Lock()

    def wait_s(self, *keys: Hashable) -> float:
        """Return how long the slowest of these has to wait; 0 when all may go on."""
        with self._lock:
            now = self._clock()
            return max((self._waits(key, now) for key in keys), default=0.0)

    def count(self, *keys: Hashable) -> None:
        """Note an event of each."""
        with self._lock:
            now = self._clock()
            for key in keys:
                moments = self._seen.peek(key) or deque[float](maxlen=self._most)
                moments.append(now)
                self._seen.put(key, moments)

    def _waits(self, key: Hashable, now: float) -> float:
        seen = self._seen.peek(key)
        if seen is None or len(seen) < self._most:
            return 0.0
        return max(0.0, seen[0] + self._within_s - now)
