"""The words of long work: a job, what comes of each of its units, and who does them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import segarena.errors
from segarena.errors import SegarenaError, StoreError, UnitFailed, WorkStopped

Unit = TypeVar("Unit")
Result = TypeVar("Result")
UnitIn = TypeVar("UnitIn", contravariant=True)
ResultOut = TypeVar("ResultOut", covariant=True)


class Job(Protocol[UnitIn, ResultOut]):
    """A small description of what is done to each unit. It travels to other processes by pickling."""

    def open(self) -> Callable[[UnitIn], ResultOut]:
        """Build what is needed, once per process, and return what does one unit."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionJob(Generic[Unit, Result]):
    """The job of calling a function of a module, which needs nothing built."""

    function: Callable[[Unit], Result]

    def open(self) -> Callable[[Unit], Result]:
        """Return the function."""
        return self.function


class FactoryJob(Generic[Unit, Result]):
    """The job of a function that builds what does a unit; it travels, what it builds does not.

    Args:
        build: of a module, or a `partial` of one.
    """

    def __init__(self, build: Callable[[], Callable[[Unit], Result]]) -> None:
        self._build = build
        self._built: Callable[[Unit], Result] | None = None

    def check(self, executor: Executor) -> None:
        """Build now, so that what is wrong is said before anything is done; kept if it is needed here."""
        built = self._build()
        if executor.is_here:
            self._built = built

    def open(self) -> Callable[[Unit], Result]:
        """Build, unless that is done."""
        return self._built or self._build()

    def __reduce__(self) -> tuple[type[FactoryJob[Unit, Result]], tuple[Any]]:
        return type(self), (self._build,)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitResult(Generic[Unit, Result]):
    """A unit that is done; `seconds` is what it took the process that did it."""

    unit: Unit
    result: Result
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFailure(Generic[Unit]):
    """A unit that came to nothing, and why. The others go on.

    Attributes:
        during: which call was under way, as the job named it, when its process hung or died; "" when none was.
    """

    unit: Unit
    error: SegarenaError
    seconds: float
    during: str = ""


Outcome: TypeAlias = UnitResult[Unit, Result] | UnitFailure[Unit]


class Executor(Protocol):
    """Does the units of a job, somewhere."""

    @property
    def workers(self) -> int:
        """How many processes work at most; 0 when this one does."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether jobs are opened in this process, where what is already built need not be built again."""
        ...

    @property
    def is_near(self) -> bool:
        """Whether jobs are opened on this machine, where all see the same files."""
        ...

    def map(
        self, job: Job[Unit, Result], units: Iterable[Unit], *, limit_s: float | None = None
    ) -> Generator[Outcome[Unit, Result]]:
        """Yield what came of each unit, in the order in which they finish. Closing the generator ends the work.

        Args:
            job: what is done.
            units: may be any number, zero too; each is asked for when there is somebody to do it, since whoever
                shares the work with other processes only then takes it from them.
            limit_s: for one unit; one that takes longer fails with `UnitHung`, where the executor can end it from
                outside.

        Raises:
            StoreError, WorkStopped: raised by the job: what it makes cannot be kept, or nothing can go on.
            SegarenaError: the job cannot be opened.
        """
        ...


Workers: TypeAlias = int | Executor
"""Who does long work: so many processes of this machine, none for 0; or an executor, such as `segarena.Ray`."""


def run_unit(do: Callable[[Unit], Result], unit: Unit) -> Outcome[Unit, Result]:
    """Do one unit; whatever it raises becomes a failure, except what ends the work."""
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
    """Return an outcome that came from elsewhere without its unit, with it."""
    return replace(outcome, unit=unit)


def portable_error(error: BaseException) -> SegarenaError:
    """Return an error of segarena that says the same and can travel between processes, whatever the original holds."""
    kinds = [
        kind for kind in type(error).__mro__ if vars(segarena.errors).get(kind.__name__) is kind
    ]
    try:
        text = str(error)
    except Exception:
        text = "(its message cannot be shown)"
    if kinds:
        return kinds[0](text)
    return UnitFailed(f"{type(error).__name__}: {text}" if text else type(error).__name__)
