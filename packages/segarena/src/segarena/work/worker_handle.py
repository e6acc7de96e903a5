"""The parent's end of one worker process; `child` has the other one."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

from segarena.errors import UnitFailed
from segarena.work.deadline import SHARED_BYTES, SharedDeadline
from segarena.work.jobs import UnitFailure
from segarena.work.worker_process import WorkerMessage, run_worker

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "OPENCV_FOR_THREADS_NUM",
    "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS",
)


class WorkerHandle:
    """The parent's end of one process.

    Args:
        packed_job: what it does.
        imports_main: whether it imports the caller's script again.

    Attributes:
        is_open: the job is open there.
        task: the number and unit that it is doing.
        taken_s: since when.
    """

    def __init__(self, packed_job: bytes, *, imports_main: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.is_open = False
        self.task: tuple[int, Any] | None = None
        self.taken_s = time.monotonic()
        memory: Any = context.RawArray("B", SHARED_BYTES)
        self.deadline = SharedDeadline(memory)
        self.process = context.Process(
            target=run_worker, args=(packed_job, theirs, memory), daemon=True
        )
        with _one_thread_each(), _away_from_main(needed=imports_main):
            self.process.start()
        theirs.close()

    def take(self, task: tuple[int, Any]) -> None:
        """Send it a unit, with its number."""
        self.task = task
        self.taken_s = time.monotonic()
        with suppress(OSError):  # it died while idle; listening will find out
            self.pipe.send_bytes(pickle.dumps(task[1]))

    def is_overdue(self, limit_s: float | None) -> bool:
        """Return whether its unit takes longer than `limit_s`, or overran the deadline that the job set itself."""
        if self.task is None:
            return False
        now = time.monotonic()
        return 0.0 < self.deadline.value < now or (
            limit_s is not None and now > self.taken_s + limit_s
        )

    def listen(self) -> WorkerMessage | None:
        """Return what the process says; None when it died."""
        try:
            packed = self.pipe.recv_bytes() if self.pipe.poll() else None
        except (EOFError, OSError):
            return None
        if packed is None:
            return None
        try:
            return pickle.loads(packed)  # noqa: S301 - from our own child
        except Exception as error:
            failure = UnitFailed(f"the result cannot be read: {type(error).__name__}: {error}")
            return UnitFailure(unit=None, error=failure, seconds=time.monotonic() - self.taken_s)

    @property
    def how_it_ended(self) -> str:
        """By which signal it was killed, or with which code it exited."""
        code = self.process.exitcode or 0
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def end(self) -> None:
        """Kill the process, unless it has ended."""
        # A process that has died by itself keeps its own exit code.
        self.process.kill()
        self.process.join()
        self.pipe.close()


@contextmanager
def _one_thread_each() -> Generator[None]:
    """Give each process one thread: workers are the parallelism, and results must not depend on their number."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _away_from_main(*, needed: bool) -> Generator[None]:
    """Start processes that do not import the caller's script again, unless the job comes from there.

    A script without the usual guard would otherwise start everything anew in each process.
    """
    main = vars(sys.modules["__main__"])
    if needed:
        hidden = {}
    else:
        hidden = {name: main.pop(name) for name in ("__file__", "__spec__") if name in main}
    main.setdefault("__spec__", None)
    try:
        yield
    finally:
        main.update(hidden)
