"""How a job says until when it may be silent, to whoever watches its process from outside.

Code that hangs below Python cannot be interrupted from inside. So a job sets the moment (of `time.monotonic`) at which
a call must be over, and an executor that can end processes ends the one that overran it. Without one, nobody reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Deadline(Protocol):
    """The moment until which silence is allowed; 0.0 means that no call is under way."""

    value: float


@dataclass(slots=True)
class Unwatched:
    """A deadline that nobody reads."""

    value: float = 0.0


_deadlines: list[Deadline] = [Unwatched()]


def this_deadline() -> Deadline:
    """Return the deadline of this process."""
    return _deadlines[-1]


def share_deadline(deadline: Deadline) -> None:
    """Let jobs in this process set `deadline`, which another process reads; for executors."""
    _deadlines.append(deadline)
