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
    """A small description of the work on each unit, which travels to other processes by pickling."""

    def open(self) -> Callable[[UnitIn], ResultOut]:
        """Build everything that is needed, once per process; return the function that does one unit."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionJob(Generic[Unit, Result]):
    """The job of calling a module-level function, without setup."""

    function: Callable[[Unit], Result]

    def open(self) -> Callable[[Unit], Result]:
        """Return the function."""
        return self.function


class FactoryJob(Generic[Unit, Result]):
    """The job of a factory of the function that does a unit; only the factory travels.

    Args:
        build: a module-level function, or a `partial` of one.
    """

    def __init__(self, build: Callable[[], Callable[[Unit], Result]]) -> None:
        self._build = build
        self._built: Callable[[Unit], Result] | None = None

    def check(self, executor: Executor) -> None:
        """Build now, to raise errors before any work begins; the result is kept if it is needed here."""
        built = self._build()
        if executor.is_here:
            self._built = built

    def open(self) -> Callable[[Unit], Result]:
        """Build, unless `check` has built already."""
        return self._built or self._build()

    def __reduce__(self) -> tuple[type[FactoryJob[Unit, Result]], tuple[Any]]:
        return type(self), (self._build,)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitResult(Generic[Unit, Result]):
    """The result of a finished unit; `seconds` is the time in the process that did it."""

    unit: Unit
    result: Result
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFailure(Generic[Unit]):
    """The failure of a unit. The other units go on.

    Attributes:
        during: the call, as named by the job, in which the process hung or died; "" for none.
    """

    unit: Unit
    error: SegarenaError
    seconds: float
    during: str = ""


Outcome: TypeAlias = UnitResult[Unit, Result] | UnitFailure[Unit]


class Executor(Protocol):
    """Does the units of a job: in this process, in others, or on other machines."""

    @property
    def workers(self) -> int:
        """Maximum number of processes; 0 for this process."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether jobs are opened in this process, which can reuse objects that are already built."""
        ...

    @property
    def is_near(self) -> bool:
        """Whether jobs are opened on this machine, where all processes see the same files."""
        ...

    def map(
        self, job: Job[Unit, Result], units: Iterable[Unit], *, limit_s: float | None = None
    ) -> Generator[Outcome[Unit, Result]]:
        """Yield the outcome of each unit as they finish. Closing the generator ends the work.

        Args:
            job: the work on each unit.
            units: any number, also none. Each is taken only when a worker is free, because a process that shares the
                work claims a unit when it takes it.
            limit_s: time limit of one unit; a longer one fails with `UnitHung` if the executor can end it from
                outside.

        Raises:
            StoreError, WorkStopped: raised by the job: its results cannot be stored, or the work cannot go on.
            SegarenaError: the job cannot be opened.
        """
        ...


Workers: TypeAlias = int | Executor
"""A number of processes of this machine, 0 for the current one; or an executor, such as `segarena.Ray`."""


def run_unit(do: Callable[[Unit], Result], unit: Unit) -> Outcome[Unit, Result]:
    """Do one unit; its exceptions become a failure, except those that end the work."""
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
    """Return an outcome from another process, which came without its unit, with the unit."""
    return replace(outcome, unit=unit)


def portable_error(error: BaseException) -> SegarenaError:
    """Return an error of segarena with the same message, which can be pickled whatever the original holds."""
    try:
        text = str(error)
    except Exception:
        text = "(its message cannot be shown)"
    for kind in type(error).__mro__:
        # The nearest base class of `segarena.errors`; subclasses elsewhere may not be importable.
        if vars(segarena.errors).get(kind.__name__) is kind:
            return kind(text)
    name = type(error).__name__
    return UnitFailed(f"{name}: {text}" if text else name)


def pack_job(job: Job[Any, Any]) -> bytes:
    """Return a pickled job.

    Raises:
        WorkersInvalid: it holds something that cannot be pickled.
    """
    try:
        return pickle.dumps(job)
    # Pickling runs the code of whatever the job holds, so any exception is possible.
    except Exception as error:
        raise WorkersInvalid(
            f"this cannot be sent to worker processes: {error}; do it with 0 workers"
        ) from error
