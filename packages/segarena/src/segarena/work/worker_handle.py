"""The parent's end of a worker process; `worker_process` is the other end."""

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

from segarena.errors import UnitFailed, WorkersInvalid
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
    """The parent's end of a worker process.

    Args:
        packed_job: a pickled job.
        imports_main: whether the process imports the caller's script again.

    Attributes:
        is_open: whether the process has opened the job.
        task: the index and the unit in progress.
        taken_s: time (of `time.monotonic`) at which the task was sent.
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
        """Send a unit to the process."""
        self.task = task
        self.taken_s = time.monotonic()
        # If the process died while idle, `listen` detects it.
        with suppress(OSError):
            self.pipe.send_bytes(pickle.dumps(task[1]))

    def is_overdue(self, limit_s: float | None) -> bool:
        """Return whether the unit exceeds `limit_s`, or the current call exceeds the deadline that the job set.

        A job may also set one while it opens.
        """
        if self.task is None and self.is_open:
            return False
        now = time.monotonic()
        if 0.0 < self.deadline.value < now:
            return True
        return self.task is not None and limit_s is not None and now > self.taken_s + limit_s

    def listen(self) -> WorkerMessage | None:
        """Return the next message of the process; None if there is none, as after its death."""
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
        """Description of the signal that killed the process, or of its exit code."""
        code = self.process.exitcode or 0
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def end(self) -> None:
        """Kill the process unless it has already ended, and wait for it."""
        # A process that died on its own keeps its exit code.
        self.process.kill()
        self.process.join()
        self.pipe.close()


def hung_start(during: str) -> WorkersInvalid:
    """Return the error for a process that exceeds its deadline before the job is open."""
    return WorkersInvalid(
        f"a worker process hung in native code ({during}) before its first sample and was ended; "
        "raise --time-limit if it only needs longer"
    )


@contextmanager
def _one_thread_each() -> Generator[None]:
    """Limit libraries in new processes to one thread, because the number of workers must not change results."""
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
    """Keep new processes from importing the caller's script again, unless the job is defined there.

    Without a `__main__` guard, a script would start all its work again in each process.
    """
    main = vars(sys.modules["__main__"])
    hidden: dict[str, Any] = {}
    if not needed:
        # multiprocessing locates the script by these two attributes.
        for name in ("__file__", "__spec__"):
            if name in main:
                hidden[name] = main.pop(name)
    main.setdefault("__spec__", None)
    try:
        yield
    finally:
        main.update(hidden)
