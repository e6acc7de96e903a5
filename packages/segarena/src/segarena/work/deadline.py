"""Until when the call under way in a process may take, and what it is: written by the job, read by a watching process.

Code that hangs below Python cannot be interrupted from inside. So a job sets the moment (of `time.monotonic`) by which
a call must return, and the parent process ends a child that overruns it. Where no parent watches, nothing reads it.
"""

from __future__ import annotations

import signal
import struct
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

_MOMENT = struct.Struct("d")
_GRACE_S = 5.0
SHARED_BYTES = 512
"""What `SharedDeadline` needs."""


class Deadline(Protocol):
    """The moment by which the call under way must return (0.0: none is under way), and what it does."""

    @property
    def value(self) -> float:
        """The moment, of `time.monotonic`."""
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
class LocalDeadline:
    """The deadline of a process that no other one watches."""

    value: float = 0.0
    what: str = ""


class SharedDeadline:
    """A deadline in memory that a process shares with the one that watches it.

    Args:
        memory: `SHARED_BYTES` that both can write, zero at first.
    """

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    @property
    def value(self) -> float:
        """The moment, of `time.monotonic`."""
        return _MOMENT.unpack_from(self._memory)[0]

    @value.setter
    def value(self, moment: float) -> None:
        _MOMENT.pack_into(self._memory, 0, moment)

    @property
    def what(self) -> str:
        """What is being done, cut to the room that there is."""
        text = bytes(self._memory[_MOMENT.size : SHARED_BYTES])
        return text.partition(b"\0")[0].decode(errors="ignore")

    @what.setter
    def what(self, text: str) -> None:
        room = SHARED_BYTES - _MOMENT.size
        self._memory[_MOMENT.size : SHARED_BYTES] = text.encode(errors="replace")[: room - 1].ljust(
            room, b"\0"
        )

    @property
    def during(self) -> str:
        """What is being done if a call is under way, else nothing."""
        return self.what if self.value else ""


_deadlines: list[Deadline] = [LocalDeadline()]


def this_deadline() -> Deadline:
    """Return the deadline of this process."""
    return _deadlines[-1]


def share_deadline(deadline: Deadline) -> None:
    """Make `deadline` that of this process, for a parent that watches it."""
    _deadlines.append(deadline)


@contextmanager
def pause_deadline(most_s: float) -> Generator[None]:
    """Stop the clock of the call under way in this process while the block runs, which keeps a limit of its own.

    For what a call needs done first and cannot be blamed for. Only in the main thread, where calls have their alarm.

    Args:
        most_s: the block's own limit; from outside it is given a few seconds more.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    deadline = this_deadline()
    started = time.monotonic()
    until, (left_s, _) = deadline.value, signal.setitimer(signal.ITIMER_REAL, 0)
    if until:
        deadline.value = max(until, started + most_s + _GRACE_S)
    try:
        yield
    finally:
        if until:
            deadline.value = until + time.monotonic() - started
        if left_s:
            signal.setitimer(signal.ITIMER_REAL, left_s)
