"""How often someone may do something: a count in a sliding window, for each name and each address."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

_MOST_KNOWN = 10_000
"""So many are remembered; whoever was seen longest ago is forgotten first."""


class Pace:
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
        self._seen: OrderedDict[Hashable, deque[float]] = OrderedDict()
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
                self._seen.setdefault(key, deque(maxlen=self._most)).append(now)
                self._seen.move_to_end(key)
            while len(self._seen) > _MOST_KNOWN:
                self._seen.popitem(last=False)

    def _waits(self, key: Hashable, now: float) -> float:
        seen = self._seen.get(key)
        if seen is None or len(seen) < self._most:
            return 0.0
        return max(0.0, seen[0] + self._within_s - now)
