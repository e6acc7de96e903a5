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

    @contextmanager
    def watch(self, what: str, times: float = 1.0, *, who: str = "") -> Generator[None]:
        """Run the block; raise `PredictTimeout` when it takes longer than `times` limits.

        `what` is being done, by the plug-in `who`, which is told when the process has to be ended from outside.

        Outside the main thread of a process no alarm can be set, and only the parent's watch remains.
        """
        seconds = self.seconds * times
        has_alarm = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")

        def ring(_number: int, _frame: FrameType | None) -> None:
            raise PredictTimeout(f"{what} took longer than the limit of {seconds:g} s; raise --time-limit to allow it")

        before = signal.signal(signal.SIGALRM, ring) if has_alarm else None
        if self._deadline is not None:
            self._deadline.what = f"{who} {what}" if who else what
            self._deadline.value = self._clock() + seconds + self._grace_s
        if has_alarm:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            if has_alarm:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
            if self._deadline is not None:
                self._deadline.value = 0.0
