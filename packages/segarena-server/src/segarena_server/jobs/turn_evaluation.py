"""Evaluation of turns: requests for the worker process from the database, and results back into it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import EarlierStateMissing, InvalidInput, SegarenaError
from segarena.work.jobs import Outcome, UnitResult
from segarena_server.audit_log import record_event
from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.challenges.evaluation_request import (
    ChargedTurn,
    EvaluationRequest,
    EvaluationResult,
    RunInfo,
)
from segarena_server.db.orm_models import Challenge, Run, RunSample, Turn
from segarena_server.http.middleware import LOG
from segarena_server.jobs.lease import new_lease
from segarena_server.jobs.runner import LeasedRow, RowRunner, WorkerProcess
from segarena_server.jobs.worker import EvaluateTurn
from segarena_server.runs import run_repository
from segarena_server.site import Site
from segarena_server.storage.compression import compress_body, decompress_body
from segarena_server.turns import turn_repository
from segarena_server.turns.turn_repository import TurnKey

_MAX_WORKER_NAME = 60
"""Length of the column `places.worker`."""


class TurnRunner(RowRunner[Turn]):
    """Evaluates turns, and prefers samples whose dialogues its worker process has in memory.

    Args:
        site: whose turns.
        process: evaluates them.
    """

    def __init__(self, site: Site, process: WorkerProcess) -> None:
        super().__init__(site, process)
        self._worker = new_lease()[-_MAX_WORKER_NAME:]
        self._is_in_memory = False
        self._idle_since = 0.0
        self._evaluated_s = 0.0

    def run_next(self) -> bool:
        """Evaluate the next turn; return False when none waits."""
        was_found = super().run_next()
        if was_found:
            self._idle_since = self.site.now()
        return was_found

    def key(self, row: Turn) -> TurnKey:
        """Return the run, the number of the sample and the number of the turn."""
        return row.run_id, row.place, row.number

    def topic(self, row: Turn) -> TurnKey:
        """Return the key of the turn, for which requests wait."""
        return self.key(row)

    def lease(self, session: Session, lease: str) -> Turn | None:
        """Lease the next turn, and note that this process has the dialogues of its sample in memory."""
        turn = turn_repository.lease_next_turn(session, self._worker, lease, self.site.now())
        if turn is not None:
            sample = session.get_one(RunSample, (turn.run_id, turn.place))
            self._is_in_memory = sample.worker == self._worker
            sample.worker = self._worker
        return turn

    def execute(self, row: Turn, leased: LeasedRow) -> Outcome[Any, Any]:
        """Evaluate a turn; all earlier turns are sent along unless the process has the dialogues in memory."""
        limit_s = self.site.settings.limits.hard_s
        task = self._task(row, is_in_memory=self._is_in_memory)
        outcome = self.process.do(task, leased.renew, limit_s)
        # The process may have been restarted, or have dropped the dialogues from its cache.
        is_forgotten = not isinstance(outcome, UnitResult) and isinstance(
            outcome.error, EarlierStateMissing
        )
        if is_forgotten:
            task = self._task(row, is_in_memory=False)
            outcome = self.process.do(task, leased.renew, limit_s)
        self._evaluated_s = outcome.seconds
        self._log(row)
        return outcome

    def write(
        self, row: Turn, leased: LeasedRow, result: EvaluationResult, session: Session
    ) -> None:
        """Write the reply, and the state of the sample and of the run; nothing when the lease was lost."""
        now = max(self.site.now(), row.received_at)  # the clock may have been set back
        is_written = leased.finish(
            session,
            state="done",
            done_at=now,
            response=compress_body(result.reply),
            given=result.given,
            judged=json.dumps([asdict(status) for status in result.judged]),
            digest=result.digest,
            evaluated_s=self._evaluated_s,
        )
        if is_written and result.is_over:
            run_repository.end_run_sample(session, row.run_id, row.place, now)

    def may_enqueue(self, result: EvaluationResult) -> bool:
        """Return whether the run may be complete; the next turn of an open sample comes from the participant."""
        return result.is_over

    def refuse(self, row: Turn, leased: LeasedRow, error: InvalidInput, session: Session) -> None:
        """Write that the turn is invalid; the participant may send another one in its place."""
        leased.finish(session, state="refused", failure=str(error))

    @staticmethod
    def fail(
        site: Site, row: Turn, leased: LeasedRow, error: SegarenaError, session: Session
    ) -> None:
        """Put the turn back into the queue; after the last try end its run without charging the quota."""
        if leased.fail_attempt(session, str(error)) == "dead":
            reason = "a sample could not be evaluated; the organiser sees why"
            run_repository.refund_run(session, row.run_id, site.now(), reason)
            event = f"{row.run_id} {row.place} {row.number}: {error}"
            record_event(session, site.now(), "turn failed", event)

    def _log(self, row: Turn) -> None:
        """Log how long the turn waited for this runner, and how long the process took."""
        # A turn that came while this runner was idle was not delayed by it.
        queued_s = max(0.0, self._idle_since - row.received_at)
        values = {
            "turn": "/".join(map(str, self.key(row))),
            "queued_s": round(queued_s, 4),
            "tries": row.tries,
            "evaluated_s": round(self._evaluated_s, 4),
        }
        LOG.info("evaluated", extra={"told": values})

    def _task(self, turn: Turn, *, is_in_memory: bool) -> EvaluateTurn:
        with self.site.database.reading() as session:
            return evaluation_task(session, self.site, turn, is_in_memory=is_in_memory)


def evaluation_task(
    session: Session, site: Site, turn: Turn, *, is_in_memory: bool
) -> EvaluateTurn:
    """Return the task that evaluates a turn; earlier turns are left out when their dialogues are in memory."""
    run = session.get_one(Run, turn.run_id)
    sample = session.get_one(RunSample, (turn.run_id, turn.place))
    challenge = session.get_one(Challenge, run.challenge_id)
    if is_in_memory and turn.number:
        previous = session.get_one(Turn, (turn.run_id, turn.place, turn.number - 1))
        request = EvaluationRequest(
            run=run_info(session, run),
            place=sample.number,
            turns=(_charged_turn(turn),),
            before=previous.digest,
        )
    else:
        request = evaluation_request(session, challenge, run, sample, up_to=turn.number)
    return EvaluateTurn(
        challenge=challenge.description, request=request, run_folders=site.folder.run_folders
    )


def evaluation_request(
    session: Session, challenge: Challenge, run: Run, sample: RunSample, up_to: int | None = None
) -> EvaluationRequest:
    """Return the evaluated turns about a sample of a run, and the turn `up_to` that is still to be evaluated."""
    of_sample = select(Turn).where(Turn.run_id == run.id, Turn.place == sample.number)
    rows = session.scalars(of_sample.order_by(Turn.number))
    turns = [turn for turn in rows if turn.state == "done" or turn.number == up_to]
    return EvaluationRequest(
        run=run_info(session, run),
        place=sample.number,
        turns=tuple(map(_charged_turn, turns)),
        past=_earlier_prompts(session, challenge, run, sample),
    )


def run_info(session: Session, run: Run) -> RunInfo:
    """Return the data of a run that a worker process needs."""
    samples = tuple(row.sample for row in run_repository.run_samples(session, run.id))
    return RunInfo(id=run.id, phase=run.phase, name=run.name, samples=samples)


def _earlier_prompts(
    session: Session, challenge: Challenge, run: Run, sample: RunSample
) -> tuple[bytes, ...]:
    """Return the prompts of earlier runs about a sample; none in a practice, where prompts are not limited."""
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


def _charged_turn(turn: Turn) -> ChargedTurn:
    return ChargedTurn(
        body=decompress_body(turn.request), charged_s=turn.charged_s, spent_s=turn.spent_s
    )
