"""The ladder of a team in a phase: which of its runs count; see `segarena_server.challenges.ladder`."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.reports.boards.extracts import read_extract
from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.challenges.ladder import is_step
from segarena_server.db.orm_models import Challenge, Run, Team


def decide_step(session: Session, run: Run) -> None:
    """Decide whether a run that just ended counts; once, and in the order in which a team's runs end."""
    phase = find_phase(session.get_one(Challenge, run.challenge_id), run.phase)
    if not phase.ladder or not run.extract:
        return
    session.get(Team, run.team_id, with_for_update=True)  # of two that end at once, one is first
    best = last_step(session, run)
    run.is_step = is_step(read_extract(run.extract), read_extract(best.extract) if best else None)


def last_step(session: Session, run: Run) -> Run | None:
    """Return the run that another one of its team in the same phase is held against; None when it is the first."""
    steps = select(Run).where(
        Run.challenge_id == run.challenge_id, Run.phase == run.phase, Run.team_id == run.team_id
    )
    steps = steps.where(
        Run.state == "over", Run.extract != "", Run.fault == "", Run.is_step, Run.id != run.id
    )
    return session.scalar(steps.order_by(Run.ended_at.desc()).limit(1))
