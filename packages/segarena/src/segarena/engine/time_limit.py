"""Time limits for calls to plug-ins.

Inside a process, an alarm interrupts Python code. Native code that hangs never receives the alarm.
Worker processes therefore publish the time until which they may be silent, and the parent kills
those that exceed it (see `segarena.work.deadline`).
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from types import FrameType
from typing import Any

from segarena.errors import PredictTimeout
from segarena.work.deadline import Deadline

SLOW_CALLS = 10.0
"""Factor from the time limit of one prediction to that of constructors, loading, encoder passes, users and metrics."""

# `signal.getsignal` converts the handler to an enum if it can, which takes longer than all else that a time limit does.
_handler_of: Callable[[int], Any] = import_module("_signal").getsignal

_AT_ONCE_S = 0.001
"""Shortest alarm in seconds; 0 would turn the timer off."""


def too_slow(what: str, seconds: float) -> BaseException:
    """Return the error for a call that took longer than its time limit."""
    return PredictTimeout(
        f"{what} took longer than the limit of {seconds:g} s; raise --time-limit to allow it"
    )


class TimeLimit:
    """Time limit that interrupts calls that take longer than `seconds`.

    Args:
        seconds: time limit of one call.
        deadline: shared with a parent process that enforces it; None without one.
        grace_s: seconds from the alarm until the parent kills the process.
        clock: seconds since a fixed moment, the same for all processes.
        error: creates the exception from the name of the call and its limit in seconds.

    Limits may be nested; the alarm goes off for the one that expires first.
    """

    def __init__(
        self,
        seconds: float,
        deadline: Deadline | None = None,
        grace_s: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        error: Callable[[str, float], BaseException] = too_slow,
    ) -> None:
        self.seconds = seconds
        self._deadline = deadline
        self._grace_s = grace_s
        self._clock = clock
        self._error = error
        self._current_call = ("", 0.0)
        # Identifier of the thread that owns the alarm; 0 for none.
        self._thread = 0
        # Handler that the alarm had before.
        self._previous_handler: Any = None
        # Time by which the current call must return; 0.0 for none.
        self._due = 0.0
        # Time at which the alarm of the previous handler goes off; 0.0 for never.
        self._outer_due = 0.0

    @contextmanager
    def ready(self) -> Generator[None]:
        """Install the alarm once for all calls watched in the block."""
        is_taken = self._take_alarm()
        try:
            yield
        finally:
            if is_taken:
                self._give_alarm_back()

    def watch(
        self,
        what: str,
        times: float = 1.0,
        *,
        who: str = "",
    ) -> AbstractContextManager[None]:
        """Return a context manager that raises `PredictTimeout` if its block exceeds `times` times the limit.

        Outside the main thread of a process, alarms are unavailable, and only the parent enforces
        the limit.

        Args:
            what: name of the call for the error message.
            times: multiple of the time limit.
            who: name of the called plug-in, for the message if the parent kills the process.
        """
        return _WatchedCall(self, what, self.seconds * times, who)

    def begin_call(
        self,
        what: str,
        seconds: float,
        who: str,
    ) -> tuple[bool, tuple[str, float] | None]:
        """Start the time limit of a call; return whether the alarm was installed, and the enclosing call."""
        is_taken = self._take_alarm()
        around = self._publish(f"{who} {what}" if who else what, seconds)
        if self._thread == threading.get_ident():
            # An earlier call may have replaced our handler.
            if _handler_of(signal.SIGALRM) != self._ring:
                signal.signal(signal.SIGALRM, self._ring)
            self._current_call = (what, seconds)
            self._due = time.monotonic() + seconds
            self._set_alarm()
        return is_taken, around

    def end_call(self, *, is_taken: bool, around: tuple[str, float] | None) -> None:
        """End the time limit of a call; the arguments are the results of `begin_call`."""
        self._due = 0.0
        if is_taken:
            self._give_alarm_back()
        if self._deadline is not None:
            self._deadline.value = 0.0
            if around is not None:
                self._deadline.what, self._deadline.value = around

    def _publish(self, what: str, seconds: float) -> tuple[str, float] | None:
        """Publish the current call and its deadline; return those of the enclosing call, if any."""
        if self._deadline is None:
            return None
        until = self._clock() + seconds + self._grace_s
        outer = self._deadline.value
        around = (self._deadline.what, outer) if outer else None
        self._deadline.what = what
        # An inner call must not extend the limit of the call around it.
        self._deadline.value = min(until, outer) if outer else until
        return around

    def _take_alarm(self) -> bool:
        """Install the alarm if this thread may do so and has not yet; return whether it was installed."""
        if (
            self._thread
            # Python runs signal handlers only in the main thread.
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
        """Set the alarm to the end of the current call, or of the enclosing call if that is earlier."""
        moment = self._due or self._outer_due
        if self._outer_due:
            moment = min(moment, self._outer_due)
        if moment:
            _ring_at(moment)

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


class _WatchedCall:
    """A call with a time limit, as a context manager.

    A class, because a generator-based context manager is several times slower, and a round has three of these calls.
    """

    __slots__ = ("_around", "_is_taken", "_limit", "_seconds", "_what", "_who")

    def __init__(
        self,
        limit: TimeLimit,
        what: str,
        seconds: float,
        who: str,
    ) -> None:
        self._limit = limit
        self._what = what
        self._seconds = seconds
        self._who = who
        self._is_taken = False
        self._around: tuple[str, float] | None = None

    def __enter__(self) -> None:
        self._is_taken, self._around = self._limit.begin_call(self._what, self._seconds, self._who)

    def __exit__(self, *_: object) -> None:
        self._limit.end_call(is_taken=self._is_taken, around=self._around)


def _ring_at(moment: float) -> None:
    """Set the alarm to a time of `time.monotonic`; trigger it at once if that time has passed."""
    signal.setitimer(signal.ITIMER_REAL, max(moment - time.monotonic(), _AT_ONCE_S))
