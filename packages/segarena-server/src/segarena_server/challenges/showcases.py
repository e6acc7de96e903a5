"""Challenges to click through, with runs at them: what `segarena serve --demo` shows.

A package that brings a benchmark says with what it is shown: it names the module with its `@showcase` in the entry
point group `segarena.showcases`, which is imported when a demonstration is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from segarena.registry import import_packages
from segarena_server.challenges.description import ChallengeDescription

ENTRY_POINTS = "segarena.showcases"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowcaseRun:
    """A run that is held for a showcase.

    Attributes:
        who: takes part; the same name is the same participant in all showcases.
        phase: of the challenge.
        name: of the run.
        segmenter: as written for `segarena run`; one that needs no weights.
        days_ago: when it is to have been.
        samples: after so many it is left, as if its program had been stopped; None: it goes to the end.
    """

    who: str
    phase: str
    name: str
    segmenter: str
    days_ago: float
    samples: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Showcase:
    """A challenge with runs at it; on two processors all of it takes a few seconds.

    Attributes:
        challenge: its data need no download.
        tries: in the order in which they are held.
    """

    challenge: ChallengeDescription
    tries: tuple[ShowcaseRun, ...]


ShowcaseFactory = Callable[[datetime], Showcase]
_makers: list[ShowcaseFactory] = []


def showcase(make: ShowcaseFactory) -> ShowcaseFactory:
    """Add a showcase: a function of the time at which it is shown, for its dates."""
    _makers.append(make)
    return make


def showcases(now: datetime) -> list[Showcase]:
    """Return those of all installed packages; the ones that cannot be imported are left out."""
    import_packages(ENTRY_POINTS)
    return [make(now) for make in _makers]
