"""The executor of local processes: each opens the job once, takes a unit, answers, takes the next.

The parent only hands out units and watches. It ends a process that is silent for too long, and replaces one that died;
the unit at fault is tried once more in a fresh process, then fails, and the others go on. Processes never outlive the
parent.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from multiprocessing.connection import wait
from typing import Any

from segarena.errors import SegarenaError, UnitDied, UnitFailed, UnitHung, WorkersInvalid
from segarena.work.child import Ended, Message, Opened, live
from segarena.work.deadline import SHARED_BYTES, SharedDeadline
from segarena.work.jobs import Done, Failed, Job, Outcome, Result, Unit

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "OPENCV_FOR_THREADS_NUM",
    "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS",
)
_POLL_S = 0.2
_TRIES = 2
"""A unit that kills its process is tried so often; so is starting a process that is killed on the way."""


class Processes:
    """Works in processes of this machine, one thread each.

    Args:
        workers: how many, at most one per unit.
    """

    is_here = False

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def map(
        self, job: Job[Unit, Result], units: Iterable[Unit], *, limit_s: float | None = None
    ) -> Generator[Outcome[Unit, Result]]:
        """Yield what came of each unit, as they finish; see `segarena.work.jobs.Executor`."""
        waiting = _Waiting(units)
        crew = _Crew(_pack(job), limit_s)
        deaths: Counter[int] = Counter()
        try:
            crew.start(waiting.count_ahead(self._workers))
            while crew.hand_out(waiting) or crew.busy:
                for worker, message in crew.listen():
                    if isinstance(message, Ended):
                        raise message.error
                    if isinstance(message, Opened):
                        worker.is_open = True
                        continue
                    task = worker.task
                    if message is None:
                        message = crew.bury(worker)
                        if task is not None and isinstance(message.error, UnitDied):
                            deaths[task[0]] += 1
                            if deaths[task[0]] < _TRIES:
                                waiting.put_back(task)
                                continue
                    worker.task = None
                    if task is not None:
                        yield _of_unit(task[1], message)
        finally:
            crew.end()


class _Waiting:
    """Units that wait, numbered; they are asked for one at a time, when somebody has nothing to do."""

    def __init__(self, units: Iterable[Any]) -> None:
        self._rest = iter(enumerate(units))
        self._ahead: deque[tuple[int, Any]] = deque()

    def count_ahead(self, most: int) -> int:
        """Ask for so many, or all if they are fewer; return how many these are."""
        self._ahead.extend(islice(self._rest, most))
        return len(self._ahead)

    def take(self) -> tuple[int, Any] | None:
        return self._ahead.popleft() if self._ahead else next(self._rest, None)

    def put_back(self, task: tuple[int, Any]) -> None:
        self._ahead.appendleft(task)


class _Crew:
    """All worker processes of one piece of work."""

    def __init__(self, packed_job: bytes, limit_s: float | None) -> None:
        self._packed_job = packed_job
        self._limit_s = limit_s
        self._failed_starts = 0
        self._workers: list[_Worker] = []

    def start(self, size: int) -> None:
        for _ in range(size):
            self._workers.append(_Worker(self._packed_job))

    @property
    def busy(self) -> bool:
        return any(worker.task is not None for worker in self._workers)

    def hand_out(self, waiting: _Waiting) -> bool:
        """Give units to those who have nothing to do; return whether there may be more."""
        for worker in self._workers:
            if worker.is_open and worker.task is None:
                task = waiting.take()
                if task is None:
                    return False
                worker.take(task)
        return bool(self._workers)

    def listen(self) -> list[tuple[_Worker, Message | None]]:
        """Wait a moment; return who said something, and with None who died or has been silent for too long."""
        ends = [end for worker in self._workers for end in (worker.pipe, worker.process.sentinel)]
        ready = set(wait(ends, timeout=_POLL_S))
        speaking: list[tuple[_Worker, Message | None]] = []
        for worker in self._workers:
            if worker.pipe in ready or worker.process.sentinel in ready:
                speaking.append((worker, worker.listen()))
            elif worker.is_overdue(self._limit_s):
                speaking.append((worker, None))
        return speaking

    def bury(self, worker: _Worker) -> Failed[Any]:
        """End and replace a process; return why its unit failed."""
        seconds, is_overdue = time.monotonic() - worker.taken_s, worker.is_overdue(self._limit_s)
        worker.end()
        during = worker.deadline.during
        error: SegarenaError = UnitHung("no answer in time; its process was ended")
        if not is_overdue:
            self._check_start(worker)
            how = f"{worker.how_it_ended}, {during}" if during else worker.how_it_ended
            error = UnitDied(f"the worker process died ({how}); out of memory, or a crash in compiled code")
        self._workers[self._workers.index(worker)] = _Worker(self._packed_job)
        return Failed(unit=None, error=error, seconds=seconds, during=during)

    def _check_start(self, worker: _Worker) -> None:
        if worker.is_open:
            self._failed_starts = 0
            return
        self._failed_starts += 1
        if (worker.process.exitcode or 0) >= 0 or self._failed_starts >= _TRIES:
            raise WorkersInvalid(
                f"a worker process could not start ({worker.how_it_ended}); its error stands above. "
                "A script that gives objects to workers must start them under 'if __name__ == \"__main__\":'"
            )

    def end(self) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.end()


class _Worker:
    """The parent's end of one process.

    Attributes:
        is_open: the job is open there.
        task: the number and unit that it is doing.
        taken_s: since when.
    """

    def __init__(self, packed_job: bytes) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.is_open = False
        self.task: tuple[int, Any] | None = None
        self.taken_s = time.monotonic()
        memory: Any = context.RawArray("B", SHARED_BYTES)
        self.deadline = SharedDeadline(memory)
        self.process = context.Process(target=live, args=(packed_job, theirs, memory), daemon=True)
        with _one_thread_each(), _away_from_main(needed=b"__main__" in packed_job):
            self.process.start()
        theirs.close()

    def take(self, task: tuple[int, Any]) -> None:
        self.task, self.taken_s = task, time.monotonic()
        with suppress(OSError):  # it died while idle; listening will find out
            self.pipe.send_bytes(pickle.dumps(task[1]))

    def is_overdue(self, limit_s: float | None) -> bool:
        """Return whether its unit takes longer than `limit_s`, or overran the deadline that the job set itself."""
        if self.task is None:
            return False
        now = time.monotonic()
        return 0.0 < self.deadline.value < now or (limit_s is not None and now > self.taken_s + limit_s)

    def listen(self) -> Message | None:
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
            return Failed(unit=None, error=failure, seconds=time.monotonic() - self.taken_s)

    @property
    def how_it_ended(self) -> str:
        code = self.process.exitcode or 0
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def end(self) -> None:
        # A process that has died by itself keeps its own exit code.
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _pack(job: Job[Any, Any]) -> bytes:
    try:
        return pickle.dumps(job)
    except Exception as error:
        raise WorkersInvalid(f"this cannot be sent to worker processes: {error}; do it with 0 workers") from error


def _of_unit(unit: Any, outcome: Done[Any, Any] | Failed[Any]) -> Outcome[Any, Any]:
    if isinstance(outcome, Failed):
        return replace(outcome, unit=unit)
    return Done(unit=unit, result=outcome.result, seconds=outcome.seconds)


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
    hidden = {} if needed else {name: main.pop(name) for name in ("__file__", "__spec__") if name in main}
    main.setdefault("__spec__", None)
    try:
        yield
    finally:
        main.update(hidden)
