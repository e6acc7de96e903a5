"""Conditions under which the published package can take part in a challenge, and the package's limits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena.roles import Benchmark
from segarena_server import http_errors
from segarena_server.challenges.challenge_repository import (
    cached_description,
    find_challenge,
    find_phase,
)
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.run_plan import participant_plan
from segarena_server.db.orm_models import Challenge as Row

NAME = "davis"
"""Name of this interface in the `interfaces` of a challenge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DavisPhase:
    """A phase of a challenge that accepts the published package, with its rules."""

    challenge: Row
    phase: Phase
    rules: Benchmark

    @property
    def is_public(self) -> bool:
        """Whether visitors without a key may know that the challenge exists."""
        return cached_description(self.challenge.description).is_public

    @property
    def most_seconds(self) -> float | None:
        """Time limit of a dialogue in seconds per object; None for no limit."""
        return None if self.rules.budget is None else self.rules.budget.seconds_per_object

    @property
    def metric(self) -> str:
        """The metric that the simulated user maximises and the curve shows: "J", "F" or "J_AND_F"."""
        return str(self.rules.options["metric"])


def find_davis_phase(
    session: Session,
    slug: str,
    name: str,
) -> DavisPhase:
    """Return a phase that accepts the published package, with its challenge and rules.

    Raises:
        Refusal: the phase does not exist, or does not accept the published package.
    """
    challenge = find_challenge(session, slug)
    phase = find_phase(challenge, name)
    if NAME not in cached_description(challenge.description).interfaces:
        raise http_errors.unknown()
    return DavisPhase(challenge=challenge, phase=phase, rules=_rules(challenge.description, name))


def check_davis_challenge(challenge: ChallengeDescription) -> None:
    """Raise `InvalidInput` unless all phases of a challenge use the benchmark davis with one simulated user."""
    for phase in challenge.phases:
        rules = participant_plan(challenge, phase).benchmark
        if rules.name != "davis" or len(rules.users) != 1:
            raise InvalidInput(
                f"interfaces: expected the benchmark davis with one user for this interface, got {rules.name}"
            )


@lru_cache(maxsize=64)
def _rules(description: str, phase: str) -> Benchmark:
    challenge = cached_description(description)
    return participant_plan(challenge, challenge.phase(phase)).benchmark
