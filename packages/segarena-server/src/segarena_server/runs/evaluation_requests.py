"""Evaluation requests, built from the database."""

from __future__ import annotations

import json

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.challenges.evaluation_request import ChargedTurn, EvaluationRequest, RunInfo
from segarena_server.db.orm_models import Challenge, Run, RunSample, Turn
from segarena_server.runs.run_repository import run_samples
from segarena_server.storage.compression import decompress_body


def evaluation_request(
    session: Session,
    challenge: Challenge,
    run: Run,
    sample: RunSample,
    up_to: int | None = None,
) -> EvaluationRequest:
    """Return a request with the evaluated turns about a run's sample, and with turn `up_to` unless it is None."""
    of_sample = select(Turn).where(Turn.run_id == run.id, Turn.place == sample.number)
    rows = session.scalars(of_sample.order_by(Turn.number))
    turns = [turn for turn in rows if turn.state == "done" or turn.number == up_to]
    return EvaluationRequest(
        run=run_info(session, run),
        place=sample.number,
        turns=tuple(map(charged_turn, turns)),
        past=_earlier_prompts(session, challenge, run, sample),
        challenge=challenge.description,
    )


def run_info(session: Session, run: Run) -> RunInfo:
    """Return the data of a run that a worker process needs."""
    samples = tuple(row.sample for row in run_samples(session, run.id))
    return RunInfo(
        id=run.id,
        phase=run.phase,
        name=run.name,
        samples=samples,
    )


def _earlier_prompts(
    session: Session,
    challenge: Challenge,
    run: Run,
    sample: RunSample,
) -> tuple[bytes, ...]:
    """Return the prompts of earlier runs about a sample; none in a practice phase, which does not limit prompts."""
    if find_phase(challenge, run.phase).kind != "test":
        return ()
    found = session.scalars(
        select(Turn.given)
        .join(RunSample, (RunSample.run_id == Turn.run_id) & (RunSample.number == Turn.place))
        .join(Run, Run.id == Turn.run_id)
        .where(
            Run.id.in_(json.loads(sample.past)),
            RunSample.sample == sample.sample,
            Turn.state == "done",
        )
        .order_by(Run.made_at, Run.id, Turn.number)
    )
    return tuple(given for given in found if given)


def charged_turn(turn: Turn) -> ChargedTurn:
    """Return a turn in the form that evaluators receive."""
    return ChargedTurn(
        body=decompress_body(turn.request), charged_s=turn.charged_s, spent_s=turn.spent_s
    )
