"""Least-recently-used cache in memory, limited by the number of its entries, their total size, or both."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LruCache(Generic[Key, Value]):
    """Cache of the most recently used values. It has no lock, so threads that share a cache need one of their own.

    Args:
        max_entries: maximum number of entries; None for no limit.
        max_bytes: maximum total of the sizes passed to `put`; None for no limit.
        min_entries: number of newest entries that stay even if they exceed `max_bytes`.
    """

    def __init__(
        self,
        *,
        max_entries: int | None = None,
        max_bytes: int | None = None,
        min_entries: int = 0,
    ) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._min_entries = min_entries
        self._entries: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._total_bytes = 0

    def get(self, key: Key) -> Value | None:
        """Return the value of `key` and mark it as most recently used; None if absent."""
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        value, _ = self._entries[key]
        return value

    def peek(self, key: Key) -> Value | None:
        """Return the value of `key` without marking it as used; None if absent."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        value, _ = entry
        return value

    def put(
        self,
        key: Key,
        value: Value,
        size_bytes: int = 0,
    ) -> None:
        """Store a value as the most recently used, then evict least recently used values until all limits hold."""
        self.pop(key)
        self._entries[key] = (value, size_bytes)
        self._total_bytes += size_bytes
        while self._is_over_limit:
            _, (_, evicted_bytes) = self._entries.popitem(last=False)
            self._total_bytes -= evicted_bytes

    def pop(self, key: Key) -> Value | None:
        """Remove an entry and return its value; None if absent."""
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
        if self._max_bytes is None or len(self._entries) <= self._min_entries:
            return False
        return self._total_bytes > self._max_bytes
