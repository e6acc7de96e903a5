"""Stop requests: SIGTERM from a scheduler and SIGHUP from a closed terminal end work as cleanly as Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

_ASK_TO_STOP = (signal.SIGTERM, signal.SIGHUP)


class StopRequest(KeyboardInterrupt):
    """Raised in the main thread when the process receives the stop signal `number`."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_code(error: KeyboardInterrupt) -> int:
    """Return the exit code of a stopped program by the convention of shells: 128 plus the signal number."""
    return 128 + (error.number if isinstance(error, StopRequest) else signal.SIGINT)


@contextmanager
def stoppable(*, is_last: bool = False) -> Generator[None]:
    """Raise `StopRequest` in the block on SIGTERM and SIGHUP, unless the program handles or ignores them itself.

    It works only in the main thread, where Python runs signal handlers.

    Args:
        is_last: whether the program ends with the block, so that a repeated signal is ignored until then.
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        # Ignore repeated signals, because a signal to a whole process group may arrive twice.
        for each in ours:
            signal.signal(each, signal.SIG_IGN)
        raise StopRequest(number)

    # Keep handlers that the program installed itself.
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
