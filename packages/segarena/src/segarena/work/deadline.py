"""The deadline and name of the current call in a process: written by the job, read by a watching parent.

Code that hangs below Python cannot be interrupted from inside. So a job sets the moment (of `time.monotonic`) by which
a call must return, and the parent process ends a child that overruns it. Without a watching parent nothing reads it.
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
"""Size of the memory of a `SharedDeadline`."""


class Deadline(Protocol):
    """The moment by which the current call must return (0.0 without one), and its name."""

    @property
    def value(self) -> float:
        """The moment, of `time.monotonic`."""
        ...

    @value.setter
    def value(self, moment: float, /) -> None: ...

    @property
    def what(self) -> str:
        """Name of the current call."""
        ...

    @what.setter
    def what(self, text: str, /) -> None: ...


@dataclass(slots=True)
class LocalDeadline:
    """The deadline of a process without a watching parent."""

    value: float = 0.0
    what: str = ""


class SharedDeadline:
    """A deadline in memory shared with the watching parent.

    Args:
        memory: `SHARED_BYTES` bytes that both can write, zero at first.
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
        """Name of the current call, truncated to the memory."""
        text = bytes(self._memory[_MOMENT.size : SHARED_BYTES])
        return text.partition(b"\0")[0].decode(errors="ignore")

    @what.setter
    def what(self, text: str) -> None:
        size = SHARED_BYTES - _MOMENT.size
        # At least one zero byte marks the end.
        encoded = text.encode(errors="replace")[: size - 1]
        self._memory[_MOMENT.size : SHARED_BYTES] = encoded.ljust(size, b"\0")

    @property
    def during(self) -> str:
        """Name of the current call; "" without one."""
        return self.what if self.value else ""


_deadlines: list[Deadline] = [LocalDeadline()]


def this_deadline() -> Deadline:
    """Return the deadline of this process."""
    return _deadlines[-1]


def share_deadline(deadline: Deadline) -> None:
    """Set the deadline of this process to one that its parent watches."""
    _deadlines.append(deadline)


@contextmanager
def pause_deadline(most_s: float) -> Generator[None]:
    """Pause the time limit of the current call while the block runs, which has a limit of its own.

    For preparations that the call cannot be blamed for, such as starting a worker. It works only in the main thread,
    where calls have their alarm.

    Args:
        most_s: limit of the block in seconds; the parent waits a few seconds longer.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    deadline = this_deadline()
    started = time.monotonic()
    until = deadline.value
    left_s, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    if until:
        deadline.value = max(until, started + most_s + _GRACE_S)
    try:
        yield
    finally:
        if until:
            deadline.value = until + time.monotonic() - started
        if left_s:
            signal.setitimer(signal.ITIMER_REAL, left_s)
