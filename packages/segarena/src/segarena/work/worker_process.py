"""Main function of a worker process: open the job, then run units until the parent closes the pipe or dies."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, cast

from segarena.errors import SegarenaError, StoreError, UnitFailed, WorkStopped
from segarena.work.deadline import SharedDeadline, share_deadline
from segarena.work.exit_reporter import die_with
from segarena.work.jobs import Job, Outcome, UnitFailure, UnitResult, portable_error, run_unit


@dataclass(frozen=True, slots=True)
class JobReady:
    """The first message of a worker: the job is open, and the parent may send units."""


@dataclass(frozen=True, slots=True)
class WorkerExit:
    """The last message of a worker: the job cannot be opened, or the work cannot continue."""

    error: SegarenaError


WorkerMessage = JobReady | WorkerExit | UnitResult[Any, Any] | UnitFailure[Any]


def run_worker(
    packed_job: bytes,
    pipe: Connection,
    memory: Any,
) -> None:
    """Open a job and run the units from `pipe` until it closes; `memory` belongs to a `SharedDeadline`."""
    _leave_signals_to_parent()
    _die_with_parent()
    share_deadline(SharedDeadline(memory))
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            job: Job[Any, Any] = pickle.loads(packed_job)  # noqa: S301 - from our own parent
            do = job.open()
        except (Exception, SystemExit) as error:
            pipe.send_bytes(pickle.dumps(WorkerExit(portable_error(error))))
            return
        pipe.send_bytes(pickle.dumps(JobReady()))
        while True:
            pipe.send_bytes(_answer(do, pipe.recv_bytes()))


def _answer(do: Callable[[Any], Any], packed_unit: bytes) -> bytes:
    """Return the pickled outcome of a unit, without the unit itself, which the parent has."""
    try:
        outcome: Outcome[Any, Any] = run_unit(do, pickle.loads(packed_unit))  # noqa: S301 - as above
    except (StoreError, WorkStopped) as error:
        return pickle.dumps(WorkerExit(portable_error(error)))
    seconds = outcome.seconds
    if isinstance(outcome, UnitFailure):
        return pickle.dumps(UnitFailure(unit=None, error=outcome.error, seconds=seconds))
    try:
        return pickle.dumps(UnitResult(unit=None, result=outcome.result, seconds=seconds))
    # Pickling runs code of every object in the result, so any exception is possible.
    except Exception as error:
        failure = unsendable_result(outcome.result, error)
        return pickle.dumps(UnitFailure(unit=None, error=failure, seconds=seconds))


def unsendable_result(result: Any, error: Exception) -> UnitFailed:
    """Return the error for a result that cannot be pickled."""
    return UnitFailed(f"the result, {type(result).__name__}, cannot be sent to the parent: {error}")


def _leave_signals_to_parent() -> None:
    """Ignore Ctrl-C and signals to the whole process group: the parent receives them too, and decides."""
    # Install a handler instead of SIG_IGN, which programs that the job starts would inherit.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _do_nothing)


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    pass


def _die_with_parent() -> None:
    """End this process when the parent dies, even while it hangs in compiled code."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    die_with(parent.pid)
    threading.Thread(target=_watch, args=(cast("Any", parent),), daemon=True).start()


def _watch(parent: Any) -> None:
    parent.join()
    os._exit(1)
