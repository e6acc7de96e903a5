"""Types of demo content for `segarena serve --demo`: challenges with runs, and other content of a site.

Packages register them in the entry point group `segarena.demos`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from segarena.demos import NamedDemo
from segarena_server.challenges.description import ChallengeDescription
from segarena_server.site import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRun:
    """A participant's run in a demo.

    Attributes:
        participant: name of the participant; equal names refer to the same participant in all demos.
        phase: name of the phase.
        name: name of the run.
        segmenter: as in `segarena run`; one that needs no weights.
        days_ago: age of the run in days.
        samples: number of samples after which the run is abandoned; None for a complete run.
    """

    participant: str
    phase: str
    name: str
    segmenter: str
    days_ago: float
    samples: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChallengeDemo(NamedDemo):
    """A challenge with runs; all of its runs together take a few seconds on two processors.

    Attributes:
        describe: returns the challenge for a given current time, to which its dates are relative; its data
            must not need a download.
        runs: runs in the challenge, oldest first.
    """

    describe: Callable[[datetime], ChallengeDescription]
    runs: tuple[DemoRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteDemo(NamedDemo):
    """Content that another package adds to a site.

    Attributes:
        add_to: adds the content to a new site whose accounts already exist.
    """

    add_to: Callable[[Site], object]
