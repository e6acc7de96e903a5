"""Work that goes on where it stopped: what a ledger has is not done again, the rest goes to an executor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Generic

from segarena.errors import SegarenaError
from segarena.work.jobs import Done, Executor, Job, Unit
from segarena.work.ledger import Ledger
from segarena.work.progress import OnProgress, Progress, say_nothing
from segarena.work.signals import stoppable


def work_through(
    job: Job[Unit, Any],
    units: Mapping[str, Unit],
    ledger: Ledger,
    executor: Executor,
    *,
    stage: str = "",
    on_progress: OnProgress = say_nothing,
    noted: Callable[[Unit, Any], Any] = lambda _, result: result,
) -> dict[str, SegarenaError]:
    """Do the units that the ledger does not have, and note each one; return why others failed.

    A failed unit is not noted: the next call tries it again.

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
    failures: dict[str, SegarenaError] = {}
    pending = {name: unit for name, unit in units.items() if name not in ledger.done}
    resumed = len(units) - len(pending)
    progress = Progress(stage=stage, units=len(units), done=resumed, resumed=resumed)
    on_progress(progress)
    with stoppable(), closing(executor.map(_Named(job), pending.items())) as outcomes:
        for outcome in outcomes:
            name, unit = outcome.unit
            if isinstance(outcome, Done):
                ledger.add(name, noted(unit, outcome.result))
            else:
                failures[name] = outcome.error
            progress.done += 1
            progress.failures = len(failures)
            progress.seconds += outcome.seconds
            on_progress(progress)
    return failures


@dataclass(frozen=True, slots=True)
class _Named(Generic[Unit]):
    """A job whose units have their names with them."""

    job: Job[Unit, Any]

    def open(self) -> Callable[[tuple[str, Unit]], Any]:
        do = self.job.open()
        return lambda named: do(named[1])
