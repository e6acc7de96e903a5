"""Time limits for calls to plug-ins.

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
"""Shortest alarm; 0 would turn the timer off."""


def _too_slow(what: str, seconds: float) -> BaseException:
    return PredictTimeout(
        f"{what} took longer than the limit of {seconds:g} s; raise --time-limit to allow it"
    )


class TimeLimit:
    """Ends calls that take longer than `seconds`.

    Args:
        seconds: the limit of one call.
        deadline: shared with a parent process that watches; None without one.
        grace_s: delay after the alarm until the parent steps in.
        clock: seconds since some fixed moment, the same for all processes.
        error: makes the exception from the name of the call and its limit in seconds.

    Limits may be nested; the one that expires first rings, whichever it is.
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
        self._current_call = ("", 0.0)
        # Identifier of the thread that has the alarm; 0 for none.
        self._thread = 0
        # The handler that the alarm had before.
        self._previous_handler: Any = None
        # Moment by which the current call must return; 0.0 without one.
        self._due = 0.0
        # Moment at which the alarm of the previous handler rings; 0.0 for never.
        self._outer_due = 0.0

    @contextmanager
    def ready(self) -> Generator[None]:
        """Install the alarm once for all calls that are watched in the block."""
        is_taken = self._take_alarm()
        try:
            yield
        finally:
            if is_taken:
                self._give_alarm_back()

    @contextmanager
    def watch(self, what: str, times: float = 1.0, *, who: str = "") -> Generator[None]:
        """Run the block; raise `PredictTimeout` when it takes longer than `times` limits.

        Outside the main thread of a process no alarm can be set, and only the parent's watch remains.

        Args:
            what: name of the call, in the error.
            times: factor of the limit.
            who: the plug-in that is called, named if the process must be ended from outside.
        """
        seconds = self.seconds * times
        is_taken = self._take_alarm()
        around = self._publish(f"{who} {what}" if who else what, seconds)
        if self._thread == threading.get_ident():
            # An earlier call may have replaced our handler.
            if signal.getsignal(signal.SIGALRM) != self._ring:
                signal.signal(signal.SIGALRM, self._ring)
            self._current_call = (what, seconds)
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
        """Publish the current call and its deadline; return those of the call around it, if any."""
        if self._deadline is None:
            return None
        until = self._clock() + seconds + self._grace_s
        outer = self._deadline.value
        around = (self._deadline.what, outer) if outer else None
        self._deadline.what = what
        self._deadline.value = min(until, outer) if outer else until
        return around

    def _take_alarm(self) -> bool:
        """Install the alarm if this thread may and has not yet; return whether it was installed."""
        if (
            self._thread
            or threading.current_thread() is not threading.main_thread()
            or not hasattr(signal, "setitimer")
        ):
            return False
        self._previous_handler = signal.signal(signal.SIGALRM, self._ring)
        left_s, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        if left_s and callable(self._previous_handler):
            self._outer_due = time.monotonic() + left_s
        else:
            self._outer_due = 0.0
        self._thread = threading.get_ident()
        return True

    def _set_alarm(self) -> None:
        """Set the alarm to the end of the current call, or to that of the call around it if earlier."""
        moments = [moment for moment in (self._due, self._outer_due) if moment]
        if moments:
            _ring_at(min(moments))

    def _give_alarm_back(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._thread = 0
        signal.signal(signal.SIGALRM, self._previous_handler)
        if self._outer_due:
            _ring_at(self._outer_due)
            self._outer_due = 0.0

    def _ring(self, number: int, frame: FrameType | None) -> None:
        # The timer may fire a moment early.
        now = time.monotonic() + _AT_ONCE_S
        if self._outer_due and now >= self._outer_due:
            self._outer_due = 0.0
            self._previous_handler(number, frame)
        if self._due and now >= self._due:
            self._due = 0.0
            raise self._error(*self._current_call)
        self._set_alarm()


def _ring_at(moment: float) -> None:
    """Set the alarm to a moment of `time.monotonic`; at once if it has passed."""
    signal.setitimer(signal.ITIMER_REAL, max(moment - time.monotonic(), _AT_ONCE_S))
