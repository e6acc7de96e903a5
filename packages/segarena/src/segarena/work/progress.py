"""Progress of long-running work, the same type for every kind of work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(slots=True, kw_only=True)
class Progress:
    """Progress of the work; passed to `on_progress` at the start and after every unit.

    Attributes:
        stage: name of the stage, if the work has several.
        units: total number of units.
        unit: plural name of a unit, such as "photographs"; "" leaves the name to the display.
        done: number of units that are resumed, done now, or failed.
        resumed: number of units done before this call.
        elsewhere: number of units done meanwhile by other processes that share the work.
        sharers: number of processes that share the work, including this one.
        failures: number of failures; a run counts failed dialogues, of which a unit may have several.
        seconds: total time of the units done now, over all processes.
        counts: other counts of the work, such as rounds.
        notes: messages to show at once, a line each; the list only grows.
        waiting_for: the processes that work on the remaining units, while this one has nothing to do.
    """

    stage: str = ""
    units: int
    unit: str = ""
    done: int = 0
    resumed: int = 0
    elsewhere: int = 0
    sharers: int = 1
    failures: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter[str])
    notes: list[str] = field(default_factory=list[str])
    waiting_for: str = ""


OnProgress: TypeAlias = Callable[[Progress], None]


def ignore_progress(_: Progress) -> None:
    """Do nothing."""
