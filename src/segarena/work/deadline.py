"""How a job says until when it may be silent, and in what, to whoever watches its process from outside.

Code that hangs below Python cannot be interrupted from inside. So a job sets the moment (of `time.monotonic`) at which
a call must be over, and whoever can end its process ends the one that overran it. Without a watch, nobody reads it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Protocol

_MOMENT = struct.Struct("d")
SHARED_BYTES = 512
"""What `SharedDeadline` needs."""


class Deadline(Protocol):
    """The moment until which silence is allowed (0.0: no call is under way), and what is being done meanwhile."""

    @property
    def value(self) -> float:
        """The moment."""
        ...

    @value.setter
    def value(self, moment: float, /) -> None: ...

    @property
    def what(self) -> str:
        """What is being done."""
        ...

    @what.setter
    def what(self, text: str, /) -> None: ...


@dataclass(slots=True)
class Unwatched:
    """A deadline that nobody reads."""

    value: float = 0.0
    what: str = ""


class SharedDeadline:
    """A deadline in memory that two processes share.

    Args:
        memory: `SHARED_BYTES` that both can write, zero at first.
    """

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    @property
    def value(self) -> float:
        """The moment."""
        return _MOMENT.unpack_from(self._memory)[0]

    @value.setter
    def value(self, moment: float) -> None:
        _MOMENT.pack_into(self._memory, 0, moment)

    @property
    def what(self) -> str:
        """What is being done, cut where it is long."""
        text = bytes(self._memory[_MOMENT.size : SHARED_BYTES])
        return text.partition(b"\0")[0].decode(errors="ignore")

    @what.setter
    def what(self, text: str) -> None:
        room = SHARED_BYTES - _MOMENT.size
        self._memory[_MOMENT.size : SHARED_BYTES] = text.encode(errors="replace")[: room - 1].ljust(room, b"\0")

    @property
    def during(self) -> str:
        """What is being done if a call is under way, else nothing."""
        return self.what if self.value else ""


_deadlines: list[Deadline] = [Unwatched()]


def this_deadline() -> Deadline:
    """Return the deadline of this process."""
    return _deadlines[-1]


def share_deadline(deadline: Deadline) -> None:
    """Let jobs in this process set `deadline`, which another process reads; for whoever watches."""
    _deadlines.append(deadline)
