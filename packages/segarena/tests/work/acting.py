"""A job for tests in a separate module, so that other processes can import it. Each unit says what happens."""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from segarena.errors import InvalidMask, StoreError
from segarena.work.deadline import this_deadline


class Awkward(Exception):
    """Cannot be pickled or printed."""

    def __init__(self):
        super().__init__(lambda: None)

    def __str__(self):
        raise RuntimeError("no text")


class ReadOnce:
    """Can be pickled, but not unpickled."""

    def __reduce__(self):
        return (exec, ("raise RuntimeError('not again')",))


def once(flag, otherwise):
    """Do something the first time only."""
    if not Path(flag).exists():
        Path(flag).touch()
        otherwise()


def hang():
    """Block in native code, where no signal handler runs."""
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
    time.sleep(1000)


@dataclass
class Act:
    flag: str = ""
    how_opened: str = ""

    def open(self):
        Path(self.flag).parent.joinpath(f"opened-{os.getpid()}").touch() if self.flag else None
        if self.how_opened:
            self.act(self.how_opened)
        return self.act

    def act(self, unit):
        acts = {
            "raises": lambda: 1 // 0,
            "refuses": lambda: (_ for _ in ()).throw(InvalidMask("no mask there")),
            "awkward": lambda: (_ for _ in ()).throw(Awkward()),
            "disk full": lambda: (_ for _ in ()).throw(StoreError("the disk is full")),
            "sys.exit": lambda: sys.exit(3),
            "exits": lambda: os._exit(7),
            "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
            "killed once": lambda: once(self.flag, lambda: os.kill(os.getpid(), signal.SIGKILL)),
            "hangs": hang,
            "sleeps": lambda: time.sleep(1000),
            "sleeps a while": lambda: time.sleep(4),
            "sets a deadline and hangs": self.hang_past_deadline,
            "huge": lambda: bytes(50_000_000),
            "lambda": lambda: lambda: None,
            "read once": ReadOnce,
            "terminates itself": lambda: os.kill(os.getpid(), signal.SIGTERM),
            "threads": self.threads,
            "pid": os.getpid,
        }
        return acts[unit]() if unit in acts else unit

    def hang_past_deadline(self):
        this_deadline().what = "the constructor"
        this_deadline().value = time.monotonic() + 0.1
        hang()

    def threads(self):
        import cv2

        return cv2.getNumThreads(), os.environ["OMP_NUM_THREADS"]
