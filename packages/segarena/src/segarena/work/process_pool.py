"""A pool of worker processes on this machine for one job with any number of units.

The parent sends units and supervises the processes. It kills a process that exceeds a time limit,
and replaces one that died. A unit whose process died is retried once in a new process before it
fails; the others continue. Processes never outlive the parent.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterable
from multiprocessing.connection import wait
from typing import Any

from segarena.errors import SegarenaError, UnitDied, UnitHung, WorkersInvalid
from segarena.work.jobs import Outcome, UnitFailure, with_unit
from segarena.work.task_queue import TaskQueue
from segarena.work.worker_handle import WorkerHandle, hung_start
from segarena.work.worker_process import JobReady, WorkerExit, WorkerMessage

_POLL_S = 0.2
_TRIES = 2
"""Maximum attempts of a unit whose process dies, and of starting a process that dies during startup."""


class ProcessPool:
    """Worker processes of one job, each with one thread.

    Args:
        packed_job: a pickled job.
        size: maximum number of processes; the first one starts with the first unit.
        limit_s: time limit of one unit.
        imports_main: whether processes import the caller's script again, for a job that is defined there.
    """

    def __init__(
        self,
        packed_job: bytes,
        size: int,
        limit_s: float | None = None,
        *,
        imports_main: bool = False,
    ) -> None:
        self._packed_job = packed_job
        self._size = size
        self._limit_s = limit_s
        self._imports_main = imports_main
        self._failed_starts = 0
        self._workers: list[WorkerHandle] = []

    def do(self, units: Iterable[Any]) -> Generator[Outcome[Any, Any]]:
        """Yield the outcome of each unit as soon as it finishes; a single process keeps the order of the units."""
        for step in self.steps(units):
            if step is not None:
                yield step

    def steps(self, units: Iterable[Any]) -> Generator[Outcome[Any, Any] | None]:
        """Yield like `do`, and None several times a second while no message arrives."""
        waiting = TaskQueue(units)
        deaths: Counter[int] = Counter()
        self._start(waiting.count_ahead(self._size))
        while self._hand_out(waiting) or self._busy:
            speaking = self._listen()
            if not speaking:
                yield None
            for worker, message in speaking:
                if isinstance(message, WorkerExit):
                    raise message.error
                if isinstance(message, JobReady):
                    worker.is_open = True
                    continue
                task = worker.task
                if message is None:
                    message = self._replace_dead(worker)
                    if task is not None and isinstance(message.error, UnitDied):
                        # Only deaths are retried, because a unit that hung would take its whole
                        # time limit again.
                        deaths[task[0]] += 1
                        if deaths[task[0]] < _TRIES:
                            waiting.put_back(task)
                            continue
                worker.task = None
                if task is not None:
                    yield with_unit(task[1], message)

    def end(self) -> None:
        """Kill all processes."""
        # Kill all of them before waiting for the first, so that they end at the same time.
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.end()

    def _start(self, wanted: int) -> None:
        while len(self._workers) < wanted:
            self._workers.append(self._new())

    def _new(self) -> WorkerHandle:
        return WorkerHandle(self._packed_job, imports_main=self._imports_main)

    @property
    def _busy(self) -> bool:
        return any(worker.task is not None for worker in self._workers)

    def _hand_out(self, waiting: TaskQueue) -> bool:
        """Send units to idle workers; return whether there may be more units."""
        for worker in self._workers:
            if worker.is_open and worker.task is None:
                task = waiting.take()
                if task is None:
                    return False
                worker.take(task)
        return bool(self._workers)

    def _listen(self) -> list[tuple[WorkerHandle, WorkerMessage | None]]:
        """Wait briefly; return (worker, message), with None for a worker that died or exceeded a time limit."""
        handles: list[Any] = []
        for worker in self._workers:
            # The sentinel becomes ready when its process dies.
            handles += [worker.pipe, worker.process.sentinel]
        ready = set(wait(handles, timeout=_POLL_S))
        speaking: list[tuple[WorkerHandle, WorkerMessage | None]] = []
        for worker in self._workers:
            if worker.pipe in ready or worker.process.sentinel in ready:
                speaking.append((worker, worker.listen()))
            elif worker.is_overdue(self._limit_s):
                # Checked after the pipe, so that a result that arrived just in time still counts.
                speaking.append((worker, None))
        return speaking

    def _replace_dead(self, worker: WorkerHandle) -> UnitFailure[Any]:
        """End and replace a process; return the failure of its unit."""
        seconds = time.monotonic() - worker.taken_s
        # Check the deadline before ending the process, because that also ends the current call.
        is_overdue = worker.is_overdue(self._limit_s)
        worker.end()
        during = worker.deadline.during
        error: SegarenaError = UnitHung("no answer in time; its process was ended")
        if is_overdue and not worker.is_open:
            # The next process would hang, too.
            raise hung_start(during)
        if not is_overdue:
            self._check_start(worker)
            how = f"{worker.how_it_ended}, {during}" if during else worker.how_it_ended
            error = UnitDied(
                f"the worker process died ({how}); out of memory, or a crash in compiled code"
            )
        self._workers[self._workers.index(worker)] = self._new()
        return UnitFailure(
            unit=None,
            error=error,
            seconds=seconds,
            during=during,
        )

    def _check_start(self, worker: WorkerHandle) -> None:
        if worker.is_open:
            self._failed_starts = 0
            return
        self._failed_starts += 1
        exit_code = worker.process.exitcode or 0
        # A negative exit code is a signal, for example when memory runs out, and a retry may
        # succeed.
        was_killed = exit_code < 0
        if not was_killed or self._failed_starts >= _TRIES:
            raise WorkersInvalid(
                f"a worker process could not start ({worker.how_it_ended}); see its error above. "
                "A script that gives objects to workers must start them under 'if __name__ == \"__main__\":'"
            )
