"""Whether a run is ranked: only if its team has received no prompts about any of its samples before.

A team that has received prompts about a sample can answer from memory. Every run about such a
sample is therefore a repeat: its team can see it, but no board, statistical test or export includes it. Samples
are compared by content, so neither another name nor another phase or challenge makes a sample new.
Teams that ever shared a member count as one.

A program that the server runs remembers nothing between its runs and shows its team no prompts, so
its runs make no sample known. Its run is still a repeat if the team has received prompts about the
samples before, because the program may contain them.

A run that a fault of the server ended returns its samples, so that a later run about them is not a
repeat, if the fault cannot have come from an answer: otherwise a team could collect prompts, send
an answer that crashes every worker, and use what it knows in a ranked run. After other faults an
organiser decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from segarena.protocol.challenge_info import ParticipationMode
from segarena.reports.wording import count_text
from segarena_server.auth.teams import circle_of, runs_counted
from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.challenges.description import Phase
from segarena_server.db.orm_models import Challenge, Run, RunSample, Turn

PROGRAM_KIND: ParticipationMode = "worker"
OPEN_KIND: ParticipationMode = "run"
"""Runs on the participant's machine, in a practice phase: their teams have the ground truth of all samples."""


def met_contents(session: Session, team_id: int) -> set[str]:
    """Return the hashes of all samples about which a team, or another in its circle, has received prompts."""
    prompted = _samples_of_circle(session, team_id).where(
        Run.kind != PROGRAM_KIND, Run.kind != OPEN_KIND, Run.returns_samples.is_(False)
    )
    prompted = prompted.join(
        Turn, (Turn.run_id == RunSample.run_id) & (Turn.place == RunSample.number)
    )
    opened = _samples_of_circle(session, team_id).where(Run.kind == OPEN_KIND)
    return {*session.scalars(prompted.distinct()), *session.scalars(opened.distinct())}


def reason_at_begin(
    session: Session,
    challenge: Challenge,
    phase: Phase,
    team_id: int,
    contents: Sequence[str],
    met: AbstractSet[str],
) -> str:
    """Return why a run that starts now is unranked, or "" if it is ranked.

    Args:
        session: a session for reading.
        challenge: challenge of the run.
        phase: phase of the run.
        team_id: id of its team.
        contents: hashes of its samples.
        met: hashes of the samples that the team has met.
    """
    if not _ranks_by_contact(phase):
        return ""
    repeated = sum(content in met for content in contents)
    if repeated:
        return _repeat_reason(repeated, len(contents))
    if phase.ranked_runs is not None:
        used = _ranked_runs(session, challenge, phase, team_id)
        if used >= phase.ranked_runs:
            runs = count_text(phase.ranked_runs, "ranked run")
            return f"an extra run: your team has already started its {runs}"
    return ""


def decide_rank(
    session: Session,
    run: Run,
    now: float,
) -> None:
    """Mark an ending run as a repeat if the team had a sample in another run before this run's last turn about it.

    A run whose samples were new at the start can become a repeat when somebody who knows one of
    them joins the team.
    """
    phase = find_phase(session.get_one(Challenge, run.challenge_id), run.phase)
    # The program was submitted before the run started, so it cannot contain later prompts.
    if run.unranked or run.kind == PROGRAM_KIND or not _ranks_by_contact(phase):
        return
    last_turns = _last_turns(session, run)
    if run.kind == "masks":
        # Masks can be made until the run ends, long after the prompts arrived.
        last_turns = dict.fromkeys(last_turns, now)
    first_elsewhere = _first_turns_elsewhere(session, run)
    repeated = 0
    for content, last in last_turns.items():
        first = first_elsewhere.get(content)
        if first is not None and first <= last:
            repeated += 1
    if repeated:
        of_run = select(func.count()).select_from(RunSample).where(RunSample.run_id == run.id)
        run.unranked = _repeat_reason(repeated, session.scalar(of_run) or 0)


def _ranks_by_contact(phase: Phase) -> bool:
    # In a practice phase everyone sees the ground truth, so memory gives no advantage.
    return phase.kind == "test" and not phase.unlimited_ranked_runs


def _repeat_reason(repeated: int, samples: int) -> str:
    of_all = count_text(samples, "sample")
    return f"a repeat: your team has received prompts about {repeated} of {of_all} before"


def _samples_of_circle(session: Session, team_id: int) -> Select[str]:
    joined = select(RunSample.sha256).join(Run, Run.id == RunSample.run_id)
    return joined.where(Run.team_id.in_(circle_of(session, team_id)))


def _ranked_runs(
    session: Session,
    challenge: Challenge,
    phase: Phase,
    team_id: int,
) -> int:
    counted = (
        select(func.count())
        .select_from(Run)
        .where(
            Run.challenge_id == challenge.id,
            Run.phase == phase.name,
            Run.unranked == "",
            Run.is_free.is_(False),
            runs_counted(team_id),
        )
    )
    return session.scalar(counted) or 0


def _last_turns(session: Session, run: Run) -> Mapping[str, float]:
    """Return when the last turn about each sample of a run arrived, by the hash of the sample."""
    last_turns = (
        select(RunSample.sha256, func.max(Turn.received_at))
        .join(Turn, (Turn.run_id == RunSample.run_id) & (Turn.place == RunSample.number))
        .where(RunSample.run_id == run.id)
        .group_by(RunSample.sha256)
    )
    return dict(session.execute(last_turns).all())


def _first_turns_elsewhere(session: Session, run: Run) -> Mapping[str, float]:
    """Return when the team's circle first had each sample of a run in another run, by the sample's hash."""
    own = select(RunSample.sha256).where(RunSample.run_id == run.id)
    first_turns = (
        select(RunSample.sha256, func.min(Turn.received_at))
        .join(Run, Run.id == RunSample.run_id)
        .join(Turn, (Turn.run_id == RunSample.run_id) & (Turn.place == RunSample.number))
        .where(
            Run.team_id.in_(circle_of(session, run.team_id)),
            Run.id != run.id,
            Run.kind != PROGRAM_KIND,
            Run.returns_samples.is_(False),
            RunSample.sha256.in_(own),
        )
        .group_by(RunSample.sha256)
    )
    return dict(session.execute(first_turns).all())
