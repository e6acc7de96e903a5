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

_AT_ONCE_S = 0.001


def _too_slow(what: str, seconds: float) -> BaseException:
    return PredictTimeout(
        f"{what} took longer than the limit of {seconds:g} s; raise --time-limit to allow it"
    )


class TimeLimit:
    """Ends calls that take longer than `seconds`.

    Args:
        seconds: the limit of one call.
        deadline: shared with a parent process that watches; None without one.
        grace_s: how much later than the alarm the parent steps in.
        clock: seconds since some fixed moment, the same for all processes.
        error: makes what is raised, from what was being done and its limit in seconds.

    Limits may lie within each other: the one that is over first rings, whichever it is.
    """

    def __init__(
        self,
        seconds: float,
        deadline: Deadline | None = None,
        grace_s: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        error: Callable[[str, float], BaseException] = _too_slow,
    ) -> None:
        self.seconds = seconds
        self._deadline = deadline
        self._grace_s = grace_s
        self._clock = clock
        self._error = error
        self._under_way = ("", 0.0)
        self._thread = 0  # that has the alarm
        self._before: Any = None  # whose it was
        self._due = 0.0  # when the call under way has to be over; 0.0 when none is
        self._outer = 0.0  # when the alarm of whose it was rings; 0.0 for never

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
        around = self._publish(f"{who} {what}" if who else what, seconds)
        if self._thread == threading.get_ident():
            if signal.getsignal(signal.SIGALRM) != self._ring:  # a call before this one took it
                signal.signal(signal.SIGALRM, self._ring)
            self._under_way = (what, seconds)
            self._due = time.monotonic() + seconds
            self._set_alarm()
        try:
            yield
        finally:
            self._due = 0.0
            if is_taken:
                self._give_alarm_back()
            if self._deadline is not None:
                self._deadline.value = 0.0
                if around is not None:
                    self._deadline.what, self._deadline.value = around

    def _publish(self, what: str, seconds: float) -> tuple[str, float] | None:
        """Say what is being done and until when it may take; return what was said of a call around it, if any."""
        if self._deadline is None:
            return None
        until = self._clock() + seconds + self._grace_s
        outer = self._deadline.value
        around = (self._deadline.what, outer) if outer else None
        self._deadline.what = what
        self._deadline.value = min(until, outer) if outer else until
        return around

    def _take_alarm(self) -> bool:
        """Take the alarm if this thread may and has not yet; tell whether it was taken."""
        if (
            self._thread
            or threading.current_thread() is not threading.main_thread()
            or not hasattr(signal, "setitimer")
        ):
            return False
        self._before = signal.signal(signal.SIGALRM, self._ring)
        left_s, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        self._outer = time.monotonic() + left_s if left_s and callable(self._before) else 0.0
        self._thread = threading.get_ident()
        return True

    def _set_alarm(self) -> None:
        """Have it ring when the call under way has to be over, or when the one around it would."""
        moments = [moment for moment in (self._due, self._outer) if moment]
        if moments:
            signal.setitimer(signal.ITIMER_REAL, max(min(moments) - time.monotonic(), _AT_ONCE_S))

    def _give_alarm_back(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._thread = 0
        signal.signal(signal.SIGALRM, self._before)
        if self._outer:
            signal.setitimer(signal.ITIMER_REAL, max(self._outer - time.monotonic(), _AT_ONCE_S))
            self._outer = 0.0

    def _ring(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic() + _AT_ONCE_S
        if self._outer and now >= self._outer:
            self._outer = 0.0
            self._before(number, frame)
        if self._due and now >= self._due:
            self._due = 0.0
            raise self._error(*self._under_way)
        self._set_alarm()
