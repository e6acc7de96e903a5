"""Some of the dialogues about a sample, where all of them would take too long to see what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from segarena.engine.lockstep import RunCast, open_sessions
from segarena.engine.session import Session
from segarena.samples import Sample

MIN_ROUNDS = 2
"""Of a dialogue that is held in part: the second one is the first that corrects something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleWorkload:
    """What there was to hold about a sample, and what of it was held.

    Attributes:
        load_s: seconds until the sample was loaded.
        targets: of the sample.
        rounds_at_most: of all dialogues about it, if each goes on to the last round.
        share: what part of these rounds was held, above 0 and at most 1.
    """

    load_s: float = 0.0
    targets: int = 0
    rounds_at_most: int = 0
    share: float = 1.0


EMPTY_WORKLOAD = SampleWorkload()
"""Of a sample that could not be loaded, or has nothing to talk about."""


def open_session_subset(
    cast: RunCast, sample: Sample, part: float
) -> tuple[list[Session], SampleWorkload]:
    """Return some of the sessions about a sample, spread over all, and what part of all rounds they have.

    Below one session it is one with fewer rounds, but `FEWEST_ROUNDS`.
    """
    sessions = open_sessions(cast, sample)
    if not sessions:
        return sessions, EMPTY_WORKLOAD
    wanted = part * len(sessions)
    rounds = cast.rules.rounds
    kept = [sessions[place] for place in evenly_spaced(len(sessions), max(1, int(wanted)))]
    rounds = min(rounds, max(MIN_ROUNDS, math.ceil(rounds * min(1.0, wanted))))
    if rounds < cast.rules.rounds:
        rules = replace(cast.rules, rounds=rounds)
        for session in kept:
            session.rules = rules
    at_most = len(sessions) * cast.rules.rounds
    targets = len({session.target.id for session in sessions})
    return kept, SampleWorkload(
        targets=targets, rounds_at_most=at_most, share=len(kept) * rounds / at_most
    )


def evenly_spaced(samples: int, wanted: int) -> list[int]:
    """Return up to `wanted` places spread evenly over `samples`, the middle of each stretch."""
    wanted = min(wanted, samples)
    return [(2 * place + 1) * samples // (2 * wanted) for place in range(wanted)]
