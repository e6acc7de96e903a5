"""A time limit for code that is not ours.

Inside one process an alarm interrupts Python code. Code that hangs below Python (in C) never sees the alarm;
for that, worker processes publish the moment until which they may be silent, and the parent ends those that
overrun it (see `segarena.work.deadline`).
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from segarena.errors import PredictTimeout
from segarena.work.deadline import Deadline


class TimeLimit:
    """Ends calls that take longer than `seconds`.

    Args:
        seconds: the limit of one call.
        deadline: shared with a parent process that watches; None without one.
        grace_s: how much later than the alarm the parent steps in.
        clock: seconds since some fixed moment, the same for all processes.
    """

    def __init__(
        self,
        seconds: float,
        deadline: Deadline | None = None,
        grace_s: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seconds = seconds
        self._deadline = deadline
        self._grace_s = grace_s
        self._clock = clock
        self._under_way = ("", 0.0)
        self._thread = 0  # that has the alarm
        self._before: Any = None  # whose it was

    @contextmanager
    def ready(self) -> Generator[None]:
        """Take the alarm once for all calls that are watched in the block."""
        is_taken = self._take_alarm()
        try:
            yield
        finally:
            if is_taken:
                self._give_alarm_back()

    @contextmanager
    def watch(self, what: str, times: float = 1.0, *, who: str = "") -> Generator[None]:
        """Run the block; raise `PredictTimeout` when it takes longer than `times` limits.

        `what` is being done, by the plug-in `who`, which is told when the process has to be ended from outside.

        Outside the main thread of a process no alarm can be set, and only the parent's watch remains.
        """
        seconds = self.seconds * times
        is_taken = self._take_alarm()
        if self._deadline is not None:
            self._deadline.what = f"{who} {what}" if who else what
            self._deadline.value = self._clock() + seconds + self._grace_s
        if self._thread == threading.get_ident():
            if signal.getsignal(signal.SIGALRM) != self._ring:  # a call before this one took it
                signal.signal(signal.SIGALRM, self._ring)
            self._under_way = what, seconds
            signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            self._under_way = "", 0.0
            if is_taken:
                self._give_alarm_back()
            if self._deadline is not None:
                self._deadline.value = 0.0

    def _take_alarm(self) -> bool:
        """Take the alarm if this thread may and has not yet; tell whether it was taken."""
        if (
            self._thread
            or threading.current_thread() is not threading.main_thread()
            or not hasattr(signal, "setitimer")
        ):
            return False
        self._before = signal.signal(signal.SIGALRM, self._ring)
        self._thread = threading.get_ident()
        return True

    def _give_alarm_back(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._thread = 0
        signal.signal(signal.SIGALRM, self._before)

    def _ring(self, _number: int, _frame: FrameType | None) -> None:
        what, seconds = self._under_way
        if seconds:  # else the call that it was set for has returned
            raise PredictTimeout(f"{what} took longer than the limit of {seconds:g} s; raise --time-limit to allow it")
