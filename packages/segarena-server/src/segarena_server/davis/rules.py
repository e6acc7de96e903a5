"""What a challenge must be to be held by the published package, and its limits in the words of that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena.roles import Benchmark
from segarena_server.challenges.challenge_repository import (
    cached_description,
    find_challenge,
    find_phase,
)
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.run_plan import participant_plan
from segarena_server.db.orm_models import Challenge as Row
from segarena_server.http import http_errors

NAME = "davis"
"""What challenges that are held this way say in `interfaces`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DavisPhase:
    """A phase of a challenge, with its rules."""

    challenge: Row
    phase: Phase
    rules: Benchmark

    @property
    def is_public(self) -> bool:
        """Whether those who show no key may know of it."""
        return cached_description(self.challenge.description).is_public

    @property
    def most_seconds(self) -> float | None:
        """The time of a sample for each of its objects; None: no limit."""
        return None if self.rules.budget is None else self.rules.budget.seconds_per_object

    @property
    def metric(self) -> str:
        """What the robot looks at and the curve shows: "J", "F" or "J_AND_F"."""
        return str(self.rules.options["metric"])


def find_davis_phase(session: Session, slug: str, name: str) -> DavisPhase:
    """Return a phase of a challenge that is held this way.

    Raises:
        Refusal: there is none.
    """
    challenge = find_challenge(session, slug)
    phase = find_phase(challenge, name)
    if NAME not in cached_description(challenge.description).interfaces:
        raise http_errors.unknown()
    return DavisPhase(challenge=challenge, phase=phase, rules=_rules(challenge.description, name))


def check_davis_challenge(challenge: ChallengeDescription) -> None:
    """Raise `InvalidInput` unless a challenge is about videos and scribbles by the challenge's own benchmark."""
    for phase in challenge.phases:
        rules = participant_plan(challenge, phase).benchmark
        if rules.name != "davis" or len(rules.users) != 1:
            raise InvalidInput(
                f"interfaces: expected the benchmark davis at the published addresses, got {rules.name}"
            )


@lru_cache(maxsize=64)
def _rules(description: str, phase: str) -> Benchmark:
    challenge = cached_description(description)
    return participant_plan(challenge, challenge.phase(phase)).benchmark
