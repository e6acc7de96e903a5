"""Resumable work: finished units in the ledger are skipped, and an executor runs the others."""

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
    """Run the units that the ledger lacks, and record each; return the errors of failed units by name.

    A failed unit is not recorded, so the next call tries it again. If other processes share the
    ledger, they divide the units, and each call returns when all units are done or have failed.

    Args:
        job: the work on a unit; returns plain values for the ledger.
        units: the units by their names in the ledger.
        ledger: ledger of the finished units; when this returns, `ledger.done` has all units that did not fail.
        executor: runs the units.
        stage: name of the stage, if the work has several.
        on_progress: called at the start and after every unit.
        noted: maps a unit and its result to the value that the ledger stores; by default the result.

    Raises:
        StoreError: the job or the ledger cannot be written.
        SegarenaError: the job cannot be opened.
    """
    with stoppable():
        source = _take_part(units, ledger, executor)
        resumed = source.count_done
        progress = Progress(
            stage=stage,
            units=len(units),
            done=resumed,
            resumed=resumed,
        )
        on_progress(progress)

        def report(waiting_for: str = "") -> None:
            progress.done = source.count_done
            progress.sharers = source.sharers
            progress.failures = len(source.failures)
            progress.elsewhere = progress.done - resumed - done_here
            progress.waiting_for = waiting_for
            on_progress(progress)

        done_here = 0
        while (turn := source.turn(report)) is not None:
            named_units = ((name, units[name]) for name in turn)
            with closing(executor.map(_NamedUnitJob(job), named_units)) as outcomes:
                for outcome in outcomes:
                    source.note(_with_stored_value(outcome, noted))
                    progress.seconds += outcome.seconds
                    done_here += 1
                    report()
        # Other processes may have finished the rest after our last report.
        if progress.done < len(units):
            report()
        return source.failures


def _with_stored_value(
    outcome: Outcome[tuple[str, Unit], Any], noted: Callable[[Unit, Any], Any]
) -> Outcome[tuple[str, Unit], Any]:
    if isinstance(outcome, UnitFailure):
        return outcome
    _, unit = outcome.unit
    return replace(outcome, result=noted(unit, outcome.result))


def _take_part(
    units: Collection[str],
    ledger: Ledger | SharedLedger,
    executor: Executor,
) -> _ExclusiveUnits | SharedLedger:
    """Return the source of units, which also records their outcomes."""
    if isinstance(ledger, Ledger):
        return _ExclusiveUnits(units, ledger)
    ledger.join(units, executor.workers)
    return ledger


class _ExclusiveUnits:
    """The pending units of a ledger that no other process shares."""

    def __init__(self, units: Collection[str], ledger: Ledger) -> None:
        self._ledger = ledger
        self._pending = [name for name in units if name not in ledger.done]
        self._has_begun = False
        self.count_done = len(units) - len(self._pending)
        self.sharers = 1
        self.failures: dict[str, SegarenaError] = {}

    def turn(self, _: OnWait) -> Iterator[str] | None:
        if self._has_begun:
            return None
        self._has_begun = True
        return iter(self._pending)

    def note(self, outcome: Outcome[tuple[str, Any], Any]) -> None:
        name, _ = outcome.unit
        if isinstance(outcome, UnitResult):
            self._ledger.add(name, outcome.result)
        else:
            self.failures[name] = outcome.error
        self.count_done += 1


@dataclass(frozen=True, slots=True)
class _NamedUnitJob(Generic[Unit]):
    """A job on (name, unit) pairs, so that outcomes carry the names."""

    job: Job[Unit, Any]

    def open(self) -> Callable[[tuple[str, Unit]], Any]:
        do = self.job.open()
        return lambda named: do(named[1])
