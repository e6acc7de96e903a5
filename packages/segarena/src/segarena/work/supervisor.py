"""A process above the one that works, which tells how that one ended, whatever ended it.

The command runs in a child, forked before anything is imported, so that this costs a millisecond and little memory.
The parent passes on signals and the exit code. It says in one line what nobody inside can say: that a plug-in ended
the process itself (`os._exit`), that it crashed in compiled code, and that a call hangs there, which it ends. The child
dies with its parent.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import time
from collections.abc import Callable

from segarena.work.deadline import SHARED_BYTES, SharedDeadline, share_deadline

EXIT_REFUSED = 2
_POLL_S = 0.2
_PATIENCE = 10
"""So many looks in a row must find a call overdue: after the machine or the terminal slept, one is not enough."""

_FROM_TERMINAL = 128
"""What `si_code` says of Ctrl-C and of a terminal that closes: the child, of the same group, got the signal too."""


def run_supervised(run: Callable[[], None]) -> None:
    """Run in a child; return when it returned, exit as it exits. Where processes cannot be forked, run here."""
    if not hasattr(signal, "sigtimedwait"):
        run()
        return
    memory = mmap.mmap(-1, SHARED_BYTES + 1)  # the last byte: it ended of its own accord
    passed_on = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)
    child = os.fork()
    if child:
        sys.exit(_ended(child, memory, passed_on))
    from segarena.work.worker_process import die_with

    die_with(parent)
    share_deadline(SharedDeadline(memory))
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        run()
    finally:
        memory[SHARED_BYTES] = 1


def _ended(child: int, memory: mmap.mmap, passed_on: set[signal.Signals]) -> int:
    """Wait for the child; return what to exit with."""
    deadline = SharedDeadline(memory)
    overdue = 0
    while True:
        came = signal.sigtimedwait(passed_on, _POLL_S)
        if came is not None and came.si_signo != signal.SIGCHLD and came.si_code != _FROM_TERMINAL:
            os.kill(child, came.si_signo)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        overdue = overdue + 1 if 0.0 < deadline.value < time.monotonic() else 0
        if overdue >= _PATIENCE:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return _told(
                f"a plug-in hung below Python ({deadline.what}) and was ended; --workers 1 would go on without it"
            )
    code = os.waitstatus_to_exitcode(status)
    during = f" ({deadline.during})" if deadline.during else ""
    if code < 0:
        _told(
            f"ended by {signal.Signals(-code).name}{during}; out of memory, or a crash in compiled code"
        )
        return 128 - code
    if not memory[SHARED_BYTES]:
        return _told(f"something ended the process with exit code {code}{during}, as os._exit does")
    return code


def _told(message: str) -> int:
    sys.stderr.write(f"error: {message}. What was finished is kept; the same command goes on\n")
    return EXIT_REFUSED
