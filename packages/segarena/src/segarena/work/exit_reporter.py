"""A supervisor process that reports how the working process ended.

The command runs in a child that is forked before any imports, so that this costs a millisecond and
little memory. The parent forwards signals and the exit code. It reports in one line what the child
cannot report: that a plug-in ended the process (`os._exit`), that the process crashed in compiled
code, or that a call hangs there, in which case the parent kills the child. The child dies with its
parent.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from segarena.work.deadline import SHARED_BYTES, SharedDeadline, share_deadline

EXIT_REFUSED = 2
# From <linux/prctl.h>; Python has no constant for it.
_PR_SET_PDEATHSIG = 1
_POLL_S = 0.2
_OVERDUE_POLLS = 10
"""Consecutive polls that must find a call overdue; after the machine was suspended, a single one may be wrong."""

_FROM_TERMINAL = 128
"""`si_code` of Ctrl-C and of a closed terminal (SI_KERNEL), which the child in the same group receives too."""


def run_supervised(run: Callable[[], None]) -> None:
    """Run a function in a child, and exit when the child ends. Without `sigtimedwait`, run it in this process."""
    # macOS lacks `sigtimedwait`.
    if not hasattr(signal, "sigtimedwait"):
        run()
        return
    # The last byte is set when the function returns or raises, which distinguishes `os._exit`.
    memory = mmap.mmap(-1, SHARED_BYTES + 1)
    passed_on = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
    parent = os.getpid()
    # Block signals before the fork, so that none is lost before the parent waits for them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)
    child = os.fork()
    if child:
        sys.exit(_supervise(child, memory, passed_on))
    die_with(parent)
    share_deadline(SharedDeadline(memory))
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        run()
    finally:
        memory[SHARED_BYTES] = 1


def die_with(parent: int | None) -> None:
    """On Linux, make the system kill this process when its parent dies; exit if the parent is already dead.

    Args:
        parent: process id of the parent.
    """
    if sys.platform == "linux":
        # Imported here, in the child, to keep the parent small.
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent may have died while this process started.
    if os.getppid() != parent:
        os._exit(1)


def _is_to_forward(came: signal.struct_siginfo, passed_on: set[signal.Signals]) -> bool:
    """Return whether the supervisor must forward a signal to the child.

    The terminal signals the whole process group, so forwarding such a signal would deliver it twice. If this process
    was stopped and continued while it waited, Python reports a signal with an invalid number.
    """
    is_known = came.si_signo in passed_on and came.si_signo != signal.SIGCHLD
    return is_known and came.si_code != _FROM_TERMINAL


def _supervise(
    child: int,
    memory: mmap.mmap,
    passed_on: set[signal.Signals],
) -> int:
    """Wait for the child; return the exit code."""
    deadline = SharedDeadline(memory)
    overdue = 0
    while True:
        came = signal.sigtimedwait(passed_on, _POLL_S)
        if came is not None and _is_to_forward(came, passed_on):
            os.kill(child, came.si_signo)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        overdue = overdue + 1 if 0.0 < deadline.value < time.monotonic() else 0
        if overdue >= _OVERDUE_POLLS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return _report(
                f"a plug-in hung in native code ({deadline.what}) and was killed; "
                "with --workers 1, runs continue after a prediction that hangs"
            )
    code = os.waitstatus_to_exitcode(status)
    during = f" ({deadline.during})" if deadline.during else ""
    if code < 0:
        _report(
            f"ended by {signal.Signals(-code).name}{during}; out of memory, or a crash in compiled code"
        )
        return 128 - code
    if not memory[SHARED_BYTES]:
        return _report(f"the process ended with exit code {code}{during}, as os._exit does")
    return code


def _report(message: str) -> int:
    sys.stderr.write(f"error: {message}. Finished work is kept; repeat the command to resume\n")
    return EXIT_REFUSED
