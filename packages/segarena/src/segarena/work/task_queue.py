"""A queue of indexed units for executors, filled lazily."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Any


class TaskQueue:
    """Indexed units, each requested from the iterable only when a worker is free."""

    def __init__(self, units: Iterable[Any]) -> None:
        self._rest = iter(enumerate(units))
        self._ahead: deque[tuple[int, Any]] = deque()

    def count_ahead(self, most: int) -> int:
        """Request up to `most` units from the iterable in advance; return the number of waiting units."""
        # Request at most as many as there are workers, so that other processes can claim the rest.
        self._ahead.extend(islice(self._rest, most))
        return len(self._ahead)

    def take(self) -> tuple[int, Any] | None:
        """Return the next (index, unit); None at the end."""
        return self._ahead.popleft() if self._ahead else next(self._rest, None)

    def put_back(self, task: tuple[int, Any]) -> None:
        """Return a task to the front of the queue."""
        self._ahead.appendleft(task)
