"""Deadline and name of the current call in a process; the job writes them, and a supervising parent reads them.

A call that hangs in native code (C) cannot be interrupted from inside. Therefore a job publishes
the time (of `time.monotonic`) by which a call must return, and the parent process kills a child
that exceeds it. Without a supervising parent, the deadline has no effect.
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
"""Bytes of shared memory for a `SharedDeadline`."""


class Deadline(Protocol):
    """The time by which the current call must return (0.0 without a call), and the name of the call."""

    @property
    def value(self) -> float:
        """The time of the deadline, as in `time.monotonic`."""
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
    """The deadline of a process without a supervising parent."""

    value: float = 0.0
    what: str = ""


class SharedDeadline:
    """A deadline in memory shared with the supervising parent.

    Args:
        memory: `SHARED_BYTES` bytes, initially zero, that both processes can write.
    """

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    @property
    def value(self) -> float:
        """The time of the deadline, as in `time.monotonic`; 0.0 without a call."""
        return _MOMENT.unpack_from(self._memory)[0]

    @value.setter
    def value(self, moment: float) -> None:
        _MOMENT.pack_into(self._memory, 0, moment)

    @property
    def what(self) -> str:
        """Name of the current call, truncated to fit the memory."""
        memory = bytes(self._memory[_MOMENT.size : SHARED_BYTES])
        encoded, _, _ = memory.partition(b"\0")
        # Truncation may have split a multi-byte character.
        return encoded.decode(errors="ignore")

    @what.setter
    def what(self, text: str) -> None:
        size = SHARED_BYTES - _MOMENT.size
        # Leave at least one zero byte, which marks the end.
        encoded = text.encode(errors="replace")[: size - 1]
        self._memory[_MOMENT.size : SHARED_BYTES] = encoded.ljust(size, b"\0")

    @property
    def during(self) -> str:
        """Name of the current call; "" if there is none."""
        if not self.value:
            return ""
        return self.what


_deadlines: list[Deadline] = [LocalDeadline()]


def this_deadline() -> Deadline:
    """Return the deadline of this process."""
    return _deadlines[-1]


def share_deadline(deadline: Deadline) -> None:
    """Set the deadline of this process to one that its parent enforces."""
    _deadlines.append(deadline)


@contextmanager
def pause_deadline(most_s: float) -> Generator[None]:
    """Pause the time limit of the current call during the block, which has its own limit.

    It is meant for preparations for which the call is not responsible, such as starting a worker.
    It works only in the main thread, where calls have their alarm.

    Args:
        most_s: time limit of the block in seconds; the parent waits a few seconds longer.
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
