"""Being asked to stop: what a scheduler or a closed terminal sends ends work as cleanly as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

_ASK_TO_STOP = (signal.SIGTERM, signal.SIGHUP)


class StopRequest(KeyboardInterrupt):
    """The process was asked to stop; `number` is the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_code(error: KeyboardInterrupt) -> int:
    """Return what a program that was stopped exits with, as shells have it: 128 and the number of the signal."""
    return 128 + (error.number if isinstance(error, StopRequest) else signal.SIGINT)


@contextmanager
def stoppable(*, is_last: bool = False) -> Generator[None]:
    """Raise `Stopped` in the block on SIGTERM and SIGHUP, unless the program handles or ignores them itself.

    Only in the main thread; signals come nowhere else.

    Args:
        is_last: the program ends with the block, so a signal that comes again then changes nothing.
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        for each in ours:  # one is enough: what sends it to a whole group may have it come twice
            signal.signal(each, signal.SIG_IGN)
        raise StopRequest(number)

    ours = [number for number in _ASK_TO_STOP if signal.getsignal(number) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        ours = []
    for number in ours:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in ours:
            if not (is_last and signal.getsignal(number) is signal.SIG_IGN):
                signal.signal(number, signal.SIG_DFL)
