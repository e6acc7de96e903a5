"""A least-recently-used cache in memory, limited by the number of its entries, their size in bytes, or both."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """The values used last. It is not locked; threads that share one bring a lock of their own.

    Args:
        max_entries: limit of the number of entries; None for no limit.
        max_bytes: limit of the sizes given to `put`, added up; None for no limit.
        keeps_last: whether the newest entry stays even if it alone exceeds `max_bytes`.
    """

    def __init__(
        self,
        *,
        max_entries: int | None = None,
        max_bytes: int | None = None,
        keeps_last: bool = False,
    ) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._min_entries = 1 if keeps_last else 0
        self._entries: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._total_bytes = 0

    def get(self, key: Key) -> Value | None:
        """Return the value of `key` and mark it as used last; None when it is absent."""
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key][0]

    def peek(self, key: Key) -> Value | None:
        """Return the value of `key` without marking it as used; None when it is absent."""
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def put(self, key: Key, value: Value, size_bytes: int = 0) -> None:
        """Store a value as the one used last, then evict the least recently used until all fit."""
        self.pop(key)
        self._entries[key] = (value, size_bytes)
        self._total_bytes += size_bytes
        while len(self._entries) > self._min_entries and self._is_over_limit:
            _, (_, evicted_bytes) = self._entries.popitem(last=False)
            self._total_bytes -= evicted_bytes

    def pop(self, key: Key) -> Value | None:
        """Remove an entry and return its value; None when it is absent."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        value, size_bytes = entry
        self._total_bytes -= size_bytes
        return value

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def _is_over_limit(self) -> bool:
        if self._max_entries is not None and len(self._entries) > self._max_entries:
            return True
        return self._max_bytes is not None and self._total_bytes > self._max_bytes
