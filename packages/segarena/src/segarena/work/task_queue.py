"""Units that wait to be done, for executors that give them to others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Any


class TaskQueue:
    """Units that wait, numbered; they are asked for one at a time, when somebody has nothing to do."""

    def __init__(self, units: Iterable[Any]) -> None:
        self._rest = iter(enumerate(units))
        self._ahead: deque[tuple[int, Any]] = deque()

    def count_ahead(self, most: int) -> int:
        """Ask for so many, or all if they are fewer; return how many these are."""
        self._ahead.extend(islice(self._rest, most))
        return len(self._ahead)

    def take(self) -> tuple[int, Any] | None:
        """Return the next one with its number, None when there are no more."""
        return self._ahead.popleft() if self._ahead else next(self._rest, None)

    def put_back(self, task: tuple[int, Any]) -> None:
        """Have one wait again, before all others."""
        self._ahead.appendleft(task)
