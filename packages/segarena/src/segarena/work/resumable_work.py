"""Work that goes on where it stopped: what a ledger has is not done again, the rest goes to an executor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Generic

from segarena.errors import SegarenaError
from segarena.work.jobs import Executor, Job, Outcome, Unit, UnitFailure, UnitResult
from segarena.work.ledger import Ledger
from segarena.work.progress import OnProgress, Progress, ignore_progress
from segarena.work.sharing.claims import OnWait
from segarena.work.sharing.shared_ledger import SharedLedger
from segarena.work.signals import stoppable


def do_pending(
    job: Job[Unit, Any],
    units: Mapping[str, Unit],
    ledger: Ledger | SharedLedger,
    executor: Executor,
    *,
    stage: str = "",
    on_progress: OnProgress = ignore_progress,
    noted: Callable[[Unit, Any], Any] = lambda _, result: result,
) -> dict[str, SegarenaError]:
    """Do the units that the ledger does not have, and note each one; return why others failed.

    A failed unit is not noted: the next call tries it again. With a ledger that other processes share, units are
    divided among them, and this returns when all are done everywhere.

    Args:
        job: what is done to a unit; returns plain values, which the ledger keeps.
        units: by the names they have in the ledger.
        ledger: what is done, in `ledger.done` when this returns.
        executor: does it.
        stage: which part of the work this is, where there are several.
        on_progress: told when it starts and after every unit.
        noted: what the ledger keeps of a unit and its result; the result.

    Raises:
        StoreError: the job or the ledger cannot write.
        SegarenaError: the job cannot be opened.
    """
    with stoppable():
        taking = _taking(units, ledger, executor)
        resumed = taking.count_done
        progress = Progress(stage=stage, units=len(units), done=resumed, resumed=resumed)
        on_progress(progress)

        def tell(waiting_for: str = "") -> None:
            progress.done = taking.count_done
            progress.sharers = taking.sharers
            progress.failures = len(taking.failures)
            progress.elsewhere = progress.done - resumed - done_here
            progress.waiting_for = waiting_for
            on_progress(progress)

        done_here = 0
        while (turn := taking.turn(tell)) is not None:
            with closing(
                executor.map(_Named(job), ((name, units[name]) for name in turn))
            ) as outcomes:
                for outcome in outcomes:
                    taking.note(_mapped(outcome, noted))
                    progress.seconds += outcome.seconds
                    done_here += 1
                    tell()
        if progress.done < len(units):  # others did the rest
            tell()
        return taking.failures


def _mapped(
    outcome: Outcome[tuple[str, Unit], Any], noted: Callable[[Unit, Any], Any]
) -> Outcome[tuple[str, Unit], Any]:
    if isinstance(outcome, UnitFailure):
        return outcome
    return replace(outcome, result=noted(outcome.unit[1], outcome.result))


def _taking(
    units: Collection[str], ledger: Ledger | SharedLedger, executor: Executor
) -> _Alone | SharedLedger:
    """Return what gives units to do, and is told what came of them."""
    if isinstance(ledger, Ledger):
        return _Alone(units, ledger)
    ledger.join(units, executor.workers)
    return ledger


class _Alone:
    """The units of a ledger that this process has alone."""

    def __init__(self, units: Collection[str], ledger: Ledger) -> None:
        self._ledger = ledger
        self._pending = [name for name in units if name not in ledger.done]
        self._has_begun = False
        self.count_done = len(units) - len(self._pending)
        self.sharers = 1
        self.failures: dict[str, SegarenaError] = {}

    def turn(self, _: OnWait) -> Iterator[str] | None:
        has_begun = self._has_begun
        self._has_begun = True
        return None if has_begun else iter(self._pending)

    def note(self, outcome: Outcome[tuple[str, Any], Any]) -> None:
        name, _ = outcome.unit
        if isinstance(outcome, UnitResult):
            self._ledger.add(name, outcome.result)
        else:
            self.failures[name] = outcome.error
        self.count_done += 1


@dataclass(frozen=True, slots=True)
class _Named(Generic[Unit]):
    """A job whose units have their names with them."""

    job: Job[Unit, Any]

    def open(self) -> Callable[[tuple[str, Unit]], Any]:
        do = self.job.open()
        return lambda named: do(named[1])
