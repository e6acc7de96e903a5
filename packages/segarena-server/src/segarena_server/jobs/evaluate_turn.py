"""Evaluating a turn: what its unit needs of the tables."""

from __future__ import annotations

import json

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.challenges.evaluation_request import ChargedTurn, EvaluationRequest, RunInfo
from segarena_server.db.orm_models import Challenge, Run, RunSample, Turn
from segarena_server.jobs.turn_evaluation import EvaluateTurn
from segarena_server.runs.run_repository import run_samples
from segarena_server.site import Site
from segarena_server.storage.compression import unpack


def evaluation_task(session: Session, site: Site, turn: Turn, *, is_at_hand: bool) -> EvaluateTurn:
    """Return the unit that evaluates a turn; the turns before it come along unless their dialogues are at hand."""
    run = session.get_one(Run, turn.run_id)
    place = session.get_one(RunSample, (turn.run_id, turn.place))
    challenge = session.get_one(Challenge, run.challenge_id)
    if is_at_hand and turn.number:
        before = session.get_one(Turn, (turn.run_id, turn.place, turn.number - 1)).digest
        job = EvaluationRequest(
            run=run_info(session, run), place=place.number, turns=(_given(turn),), before=before
        )
    else:
        job = evaluation_request(session, challenge, run, place, up_to=turn.number)
    return EvaluateTurn(challenge=challenge.description, job=job, runs=site.folder.run_folders)


def evaluation_request(
    session: Session, challenge: Challenge, run: Run, place: RunSample, up_to: int | None = None
) -> EvaluationRequest:
    """Return a place with its turns that were evaluated, and the one that is to be."""
    found = (
        select(Turn).where(Turn.run_id == run.id, Turn.place == place.number).order_by(Turn.number)
    )
    turns = [
        turn for turn in session.scalars(found) if turn.state == "done" or turn.number == up_to
    ]
    past = _past(session, challenge, run, place)
    return EvaluationRequest(
        run=run_info(session, run), place=place.number, turns=tuple(map(_given, turns)), past=past
    )


def run_info(session: Session, run: Run) -> RunInfo:
    """Return what a worker process is told of a run."""
    samples = tuple(place.sample for place in run_samples(session, run.id))
    return RunInfo(id=run.id, phase=run.phase, name=run.name, samples=samples)


def _past(session: Session, challenge: Challenge, run: Run, place: RunSample) -> tuple[bytes, ...]:
    """Return the prompts that were given about the sample in earlier runs, where they are a budget."""
    if find_phase(challenge, run.phase).kind != "test":
        return ()
    found = session.scalars(
        select(Turn.given)
        .join(RunSample, (RunSample.run_id == Turn.run_id) & (RunSample.number == Turn.place))
        .join(Run, Run.id == Turn.run_id)
        .where(
            Run.id.in_(json.loads(place.past)),
            RunSample.sample == place.sample,
            Turn.state == "done",
        )
        .order_by(Run.made_at, Run.id, Turn.number)
    )
    return tuple(given for given in found if given)


def _given(turn: Turn) -> ChargedTurn:
    return ChargedTurn(body=unpack(turn.request), charged_s=turn.charged_s, spent_s=turn.spent_s)
