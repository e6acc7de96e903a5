"""Interfaces of long-running work: jobs, outcomes of their units, and executors."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import segarena.errors
from segarena.errors import SegarenaError, StoreError, UnitFailed, WorkersInvalid, WorkStopped

Unit = TypeVar("Unit")
Result = TypeVar("Result")
UnitIn = TypeVar("UnitIn", contravariant=True)
ResultOut = TypeVar("ResultOut", covariant=True)


class Job(Protocol[UnitIn, ResultOut]):
    """A small description of the work on each unit, sent to other processes by pickling."""

    def open(self) -> Callable[[UnitIn], ResultOut]:
        """Build everything that the work needs, once per process; return the function that processes one unit."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionJob(Generic[Unit, Result]):
    """The job of calling a module-level function, without setup."""

    function: Callable[[Unit], Result]

    def open(self) -> Callable[[Unit], Result]:
        """Return the function."""
        return self.function


class FactoryJob(Generic[Unit, Result]):
    """A job defined by a factory of the function that processes a unit; only the factory is pickled.

    Args:
        build: a module-level function, or a `partial` of one.
    """

    def __init__(self, build: Callable[[], Callable[[Unit], Result]]) -> None:
        self._build = build
        self._built: Callable[[Unit], Result] | None = None

    def check(self, executor: Executor) -> None:
        """Build the function now, to raise errors before any work begins; keep it if this process needs it."""
        built = self._build()
        if executor.is_here:
            self._built = built

    def open(self) -> Callable[[Unit], Result]:
        """Return the function, built unless `check` has already built it."""
        return self._built or self._build()

    def __reduce__(self) -> tuple[type[FactoryJob[Unit, Result]], tuple[Any]]:
        return type(self), (self._build,)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitResult(Generic[Unit, Result]):
    """Result of a finished unit; `seconds` is the time in the process that ran the unit."""

    unit: Unit
    result: Result
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFailure(Generic[Unit]):
    """Failure of a unit; the other units continue.

    Attributes:
        during: the call, named by the job, in which the process hung or died; "" if unknown.
    """

    unit: Unit
    error: SegarenaError
    seconds: float
    during: str = ""


Outcome: TypeAlias = UnitResult[Unit, Result] | UnitFailure[Unit]


class Executor(Protocol):
    """Interface of executors, which run the units of a job in this process, in others, or on other machines."""

    @property
    def workers(self) -> int:
        """Maximum number of processes; 0 means the current process."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether jobs are opened in this process, which can reuse objects that are already built."""
        ...

    @property
    def is_near(self) -> bool:
        """Whether jobs are opened on this machine, where all processes access the same files."""
        ...

    def map(
        self,
        job: Job[Unit, Result],
        units: Iterable[Unit],
        *,
        limit_s: float | None = None,
    ) -> Generator[Outcome[Unit, Result]]:
        """Yield the outcome of each unit as soon as it finishes. Closing the generator ends the work.

        Args:
            job: the work on each unit.
            units: any number of units, possibly none. Each is requested only when a worker is free, because a process
                that shares the work claims a unit on request.
            limit_s: time limit of one unit; a longer one fails with `UnitHung` if the executor can end it from
                outside.

        Raises:
            StoreError, WorkStopped: raised by the job, because its results cannot be stored or the work cannot
                continue.
            SegarenaError: the job cannot be opened.
        """
        ...


Workers: TypeAlias = int | Executor
"""Number of processes on this machine, 0 for the current one; or an executor, such as `segarena.Ray`."""


def run_unit(do: Callable[[Unit], Result], unit: Unit) -> Outcome[Unit, Result]:
    """Run one unit; its exceptions become a failure, except those that end all work."""
    started = time.perf_counter()
    try:
        result = do(unit)
    except (StoreError, WorkStopped):
        raise
    except (Exception, SystemExit) as error:
        return UnitFailure(
            unit=unit, error=portable_error(error), seconds=time.perf_counter() - started
        )
    return UnitResult(unit=unit, result=result, seconds=time.perf_counter() - started)


def with_unit(unit: Any, outcome: UnitResult[Any, Any] | UnitFailure[Any]) -> Outcome[Any, Any]:
    """Add the unit to an outcome from another process, which does not send it back."""
    return replace(outcome, unit=unit)


def portable_error(error: BaseException) -> SegarenaError:
    """Return a picklable segarena error with the same message, whatever objects the original error refers to."""
    try:
        text = str(error)
    except Exception:
        text = "(its message cannot be shown)"
    for kind in type(error).__mro__:
        # Use the nearest base class in `segarena.errors`, because subclasses elsewhere may not be
        # importable.
        if vars(segarena.errors).get(kind.__name__) is kind:
            return kind(text)
    name = type(error).__name__
    return UnitFailed(f"{name}: {text}" if text else name)


def pack_job(job: Job[Any, Any]) -> bytes:
    """Pickle a job.

    Raises:
        WorkersInvalid: the job refers to an object that cannot be pickled.
    """
    try:
        return pickle.dumps(job)
    # Pickling runs code of every object in the job, so any exception is possible.
    except Exception as error:
        raise WorkersInvalid(
            f"the job cannot be sent to worker processes: {error}; run it with 0 workers"
        ) from error
