"""Challenges for demonstration with runs in them, which `segarena serve --demo` shows.

A package with a benchmark brings a showcase of it: it names the module with its `@showcase` function in the entry point
group `segarena.showcases`. The module is imported when a demonstration is created.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from segarena.registry import import_entry_points
from segarena_server.challenges.description import ChallengeDescription

ENTRY_POINTS = "segarena.showcases"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowcaseRun:
    """A run in a showcase.

    Attributes:
        who: name of the participant; the same name is the same participant in all showcases.
        phase: of the challenge.
        name: of the run.
        segmenter: as written for `segarena run`; one that needs no weights.
        days_ago: when it takes place.
        samples: the run is left after so many, as if its program had been stopped; None for a complete run.
    """

    who: str
    phase: str
    name: str
    segmenter: str
    days_ago: float
    samples: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Showcase:
    """A challenge with its runs, which on two processors take a few seconds in all.

    Attributes:
        challenge: on data that need no download.
        tries: its runs, in the order in which they take place.
    """

    challenge: ChallengeDescription
    tries: tuple[ShowcaseRun, ...]


ShowcaseFactory = Callable[[datetime], Showcase]
_factories: list[ShowcaseFactory] = []


def showcase(make: ShowcaseFactory) -> ShowcaseFactory:
    """Register a showcase: a function of the current time, on which its dates depend."""
    _factories.append(make)
    return make


def showcases(now: datetime) -> list[Showcase]:
    """Return the showcases of all installed packages, except of those that cannot be imported."""
    import_entry_points(ENTRY_POINTS)
    return [make(now) for make in _factories]
