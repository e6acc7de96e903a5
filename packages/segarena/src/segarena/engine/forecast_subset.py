"""A subset of the dialogues about a sample, for forecasts where all dialogues would take too long."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from segarena.engine.lockstep_dialogues import RunCast, open_sessions
from segarena.engine.session import Session
from segarena.samples import Sample

MIN_ROUNDS = 2
"""Minimum rounds of a shortened dialogue, because corrections only begin in the second round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleWorkload:
    """All dialogues about a sample, and the share of them to run.

    Attributes:
        load_s: seconds that loading the sample took.
        targets: number of targets with a dialogue.
        rounds_at_most: total rounds of all dialogues about the sample if each continues to the last round.
        share: the part of these rounds to run, above 0 and at most 1.
    """

    load_s: float = 0.0
    targets: int = 0
    rounds_at_most: int = 0
    share: float = 1.0


EMPTY_WORKLOAD = SampleWorkload()
"""Workload of a sample that could not be loaded, or has no dialogues."""


def open_session_subset(
    cast: RunCast,
    sample: Sample,
    part: float,
) -> tuple[list[Session], SampleWorkload]:
    """Return sessions about a sample that have roughly the fraction `part` of its rounds, and the workload.

    The sessions are spread evenly over all sessions. If `part` is less than one session, the result
    is one session with fewer rounds, but at least `MIN_ROUNDS`.
    """
    sessions = open_sessions(cast, sample)
    if not sessions:
        return sessions, EMPTY_WORKLOAD
    all_rounds = cast.rules.rounds
    wanted = part * len(sessions)
    indices = evenly_spaced(len(sessions), max(1, int(wanted)))
    kept = [sessions[index] for index in indices]
    shortened = math.ceil(all_rounds * min(1.0, wanted))
    rounds = min(all_rounds, max(MIN_ROUNDS, shortened))
    if rounds < all_rounds:
        # Shorten the sessions only: other samples may use the same rules.
        rules = replace(cast.rules, rounds=rounds)
        for session in kept:
            session.rules = rules
    rounds_at_most = len(sessions) * all_rounds
    workload = SampleWorkload(
        targets=len({session.target.id for session in sessions}),
        rounds_at_most=rounds_at_most,
        share=len(kept) * rounds / rounds_at_most,
    )
    return kept, workload


def evenly_spaced(count: int, wanted: int) -> list[int]:
    """Return up to `wanted` indices below `count`: the midpoints of equally long intervals."""
    wanted = min(wanted, count)
    return [(2 * index + 1) * count // (2 * wanted) for index in range(wanted)]
