"""How far long work is: one type, whatever the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far long work is; handed to `on_progress` when it starts and after every unit.

    Attributes:
        stage: the part of the work that this is about, where there are several.
        units: how many there are in all.
        done: of these, those that need no more doing: resumed, done now, or failed.
        resumed: done before.
        elsewhere: done meanwhile by others who share the work.
        sharers: how many share it, this one included.
        failures: what went wrong; in a run dialogues, of which a unit may hold several.
        seconds: what the units took that were done now, added up over all processes.
        counts: what else the work counts, such as rounds.
        notes: what must be said at once, a line each; they only become more.
        waiting_for: who is at work on what is left, while there is nothing to do here.
    """

    stage: str = ""
    units: int
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
    """Be told, and do nothing."""
