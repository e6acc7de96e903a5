"""A worker process for units that arrive one at a time; it is replaced if it dies or hangs.

It suits work without an end, such as that of a server; an executor suits work that is known in
advance.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import Generic

from segarena.errors import SegarenaError, UnitDied, UnitHung, WorkersInvalid
from segarena.work.jobs import Job, Outcome, Result, Unit, UnitFailure, UnitResult, pack_job
from segarena.work.worker_handle import WorkerHandle, hung_start
from segarena.work.worker_process import JobReady, WorkerExit

_POLL_S = 0.2
_STARTING = threading.Lock()
"""Lock for starting a process, because the start modifies the environment briefly."""


class PersistentProcess(Generic[Unit, Result]):
    """A process that runs units of a job. It belongs to the thread of the first unit, and ends with that thread.

    Args:
        job: the job, which is opened in the process.
        limit_s: time limit of one unit, after which the process is killed.
    """

    def __init__(self, job: Job[Unit, Result], limit_s: float) -> None:
        self._packed_job = pack_job(job)
        self._limit_s = limit_s
        self._worker: WorkerHandle | None = None

    @property
    def number(self) -> int | None:
        """The process id; None before the first unit, and after a unit that ended the process."""
        return self._worker.process.pid if self._worker else None

    @property
    def doing(self) -> str:
        """Name of the call that the process is executing, as the job named it; "" between calls."""
        return self._worker.deadline.during if self._worker else ""

    def do(
        self,
        unit: Unit,
        meanwhile: Callable[[], object] = lambda: None,
        limit_s: float | None = None,
    ) -> Outcome[Unit, Result]:
        """Run a unit and return its outcome. A unit that kills or hangs its process fails; the next gets a new process.

        Args:
            unit: the unit to run.
            meanwhile: called several times a second until the unit is done. If it raises an error, the process keeps
                working, and the caller must end it.
            limit_s: time limit of this unit, instead of the usual one.

        Raises:
            WorkersInvalid: no process can be started.
            SegarenaError: the job cannot be opened.
        """
        worker = self._open(meanwhile)
        worker.take((0, unit))
        while not worker.is_overdue(limit_s or self._limit_s):
            ready = wait([worker.pipe, worker.process.sentinel], timeout=_POLL_S)
            meanwhile()
            if not ready:
                continue
            match worker.listen():
                case WorkerExit() as ended:
                    self.end()
                    raise ended.error
                case UnitResult() as done:
                    worker.task = None
                    return UnitResult(unit=unit, result=done.result, seconds=done.seconds)
                case UnitFailure() as failed:
                    worker.task = None
                    return UnitFailure(unit=unit, error=failed.error, seconds=failed.seconds)
                case _:
                    return self._end_failed(worker, unit, None)
        return self._end_failed(worker, unit, UnitHung("no answer in time; its process was ended"))

    def end(self) -> None:
        """End the process; a later unit starts a new one."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def _open(self, meanwhile: Callable[[], object]) -> WorkerHandle:
        worker = self._worker
        if worker is not None and worker.process.is_alive():
            return worker
        self.end()
        # Other threads of the parent may be starting processes for other jobs.
        with _STARTING:
            worker = WorkerHandle(self._packed_job, imports_main=b"__main__" in self._packed_job)
        self._worker = worker
        while not worker.is_open:
            ready = wait([worker.pipe, worker.process.sentinel], timeout=_POLL_S)
            meanwhile()
            if not ready:
                if worker.is_overdue(None):
                    during = worker.deadline.during
                    self.end()
                    raise hung_start(during)
                continue
            message = worker.listen()
            if isinstance(message, WorkerExit):
                self.end()
                raise message.error
            if message is None:
                worker.end()
                self._worker = None
                raise WorkersInvalid(f"a worker process could not start ({worker.how_it_ended})")
            worker.is_open = isinstance(message, JobReady)
        return worker

    def _end_failed(
        self,
        worker: WorkerHandle,
        unit: Unit,
        error: SegarenaError | None,
    ) -> UnitFailure[Unit]:
        during = worker.deadline.during
        self.end()
        # A process has an exit code only once it has ended.
        how = f"{worker.how_it_ended}, {during}" if during else worker.how_it_ended
        why = error or UnitDied(
            f"the worker process died ({how}); out of memory, or a crash in compiled code"
        )
        return UnitFailure(
            unit=unit,
            error=why,
            seconds=0.0,
            during=during,
        )
