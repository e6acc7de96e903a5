"""Evaluation of turns: requests from the database to the worker process, and results back to the database."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from segarena.errors import EarlierStateMissing, InvalidInput, SegarenaError
from segarena.protocol.turns import read_turn_header
from segarena.work.jobs import Outcome, UnitResult
from segarena_server.audit_log import record_event
from segarena_server.challenges.evaluation_request import (
    EvaluationRequest,
    EvaluationResult,
)
from segarena_server.db.orm_models import Challenge, Run, RunSample, Turn, TurnKey
from segarena_server.jobs.row_leases import new_lease
from segarena_server.runs import run_repository, turn_repository
from segarena_server.runs.evaluation_requests import charged_turn, evaluation_request, run_info
from segarena_server.server_log import LOG
from segarena_server.site import Site
from segarena_server.storage.compression import compress_body, decompress_body
from segarena_server.workers.leased_row_runner import LeasedRow, RowRunner, WorkerProcess

_MAX_WORKER_NAME = 60
"""Length of the column `places.worker`."""


class TurnRunner(RowRunner[Turn]):
    """Evaluates turns, preferring samples whose dialogues its worker process has in memory.

    Args:
        site: site of the turns.
        process: worker process of a `segarena_server.workers.worker.TurnExecutor`.
    """

    def __init__(self, site: Site, process: WorkerProcess) -> None:
        super().__init__(site, process)
        self._worker = new_lease()[-_MAX_WORKER_NAME:]
        self._is_in_memory = False
        self._idle_since = 0.0
        self._evaluated_s = 0.0

    def run_next(self) -> bool:
        """Evaluate the next turn; return False if none is waiting."""
        was_found = super().run_next()
        if was_found:
            self._idle_since = self.site.now()
        return was_found

    def key(self, row: Turn) -> TurnKey:
        """Return the run id, the index of the sample and the number of the turn."""
        return row.run_id, row.place, row.number

    def topic(self, row: Turn) -> TurnKey:
        """Return the key of the turn, on which requests wait."""
        return self.key(row)

    def lease(self, session: Session, lease: str) -> Turn | None:
        """Lease the next turn, or return None; record that this process has the dialogues of its sample in memory."""
        turn = turn_repository.lease_next_turn(session, self._worker, lease, self.site.now())
        if turn is not None:
            sample = session.get_one(RunSample, (turn.run_id, turn.place))
            self._is_in_memory = sample.worker == self._worker
            sample.worker = self._worker
        return turn

    def execute(self, row: Turn, leased: LeasedRow) -> Outcome[Any, Any]:
        """Evaluate a turn; include all earlier turns unless the process has the dialogues in memory."""
        limit_s = self.site.settings.limits.hard_s
        request = self._request(row, is_in_memory=self._is_in_memory)
        outcome = self.process.do(request, leased.renew, limit_s)
        # The process may have been restarted, or have evicted the dialogues from its cache.
        is_forgotten = not isinstance(outcome, UnitResult) and isinstance(
            outcome.error, EarlierStateMissing
        )
        if is_forgotten:
            request = self._request(row, is_in_memory=False)
            outcome = self.process.do(request, leased.renew, limit_s)
        self._evaluated_s = outcome.seconds
        self._log(row)
        return outcome

    def write(
        self,
        row: Turn,
        leased: LeasedRow,
        result: EvaluationResult,
        session: Session,
    ) -> None:
        """Write the reply, and the state of the sample and the run; write nothing if the lease was lost."""
        now = max(self.site.now(), row.received_at)  # the clock may have been set back
        is_written = leased.finish(
            session,
            state="done",
            done_at=now,
            response=compress_body(result.reply),
            given=result.given,
            judged=result.judged,
            digest=result.digest,
            evaluated_s=self._evaluated_s,
        )
        if is_written and result.is_over:
            run_repository.end_run_sample(session, row.run_id, row.place, now)

    def may_enqueue(self, result: EvaluationResult) -> bool:
        """Return whether the sample is over, because the last sample's end enqueues the job that ends the run."""
        return result.is_over

    def refuse(
        self,
        row: Turn,
        leased: LeasedRow,
        error: InvalidInput,
        session: Session,
    ) -> None:
        """Record that the turn is invalid; the participant may send another one in its place."""
        leased.finish(session, state="refused", failure=str(error))

    def fail(
        self,
        row: Turn,
        leased: LeasedRow,
        error: SegarenaError,
        session: Session,
    ) -> None:
        """Return the turn to the queue; after the last attempt, end its run without charging the quota."""
        fail_turn(self.site, row, leased, error, session)

    def _log(self, row: Turn) -> None:
        """Log how long the turn waited for this runner, and how long the process took."""
        # A turn that arrived while this runner was idle did not have to wait for it.
        queued_s = max(0.0, self._idle_since - row.received_at)
        values = {
            "turn": "/".join(map(str, self.key(row))),
            "queued_s": round(queued_s, 4),
            "tries": row.tries,
            "evaluated_s": round(self._evaluated_s, 4),
        }
        LOG.info("evaluated", extra={"told": values})

    def _request(self, turn: Turn, *, is_in_memory: bool) -> EvaluationRequest:
        """Return the request to evaluate a turn, without earlier turns if their dialogues are in memory."""
        with self.site.database.reading() as session:
            run = session.get_one(Run, turn.run_id)
            sample = session.get_one(RunSample, (turn.run_id, turn.place))
            challenge = session.get_one(Challenge, run.challenge_id)
            if not is_in_memory or not turn.number:
                return evaluation_request(session, challenge, run, sample, up_to=turn.number)
            previous = session.get_one(Turn, (turn.run_id, turn.place, turn.number - 1))
            return EvaluationRequest(
                run=run_info(session, run),
                place=sample.number,
                turns=(charged_turn(turn),),
                before=previous.digest,
                challenge=challenge.description,
            )


def fail_turn(
    site: Site,
    row: Turn,
    leased: LeasedRow,
    error: SegarenaError,
    session: Session,
) -> None:
    """Return a turn to the queue; after the last attempt, end its run without charging the quota."""
    if leased.fail_attempt(session, str(error)) != "dead":
        return
    reason = "a sample could not be evaluated; the organiser can see the reason"
    run_repository.refund_run(
        session, row.run_id, site.now(), reason, returns_samples=not _may_be_made_to_fail(row)
    )
    event = f"{row.run_id} {row.place} {row.number}: {error}"
    record_event(session, site.now(), "turn failed", event)


def _may_be_made_to_fail(turn: Turn) -> bool:
    """Return whether the content of a turn may have caused its failure; a request for first prompts has no content."""
    try:
        header = read_turn_header(decompress_body(turn.request))
    except SegarenaError:
        return True
    return bool(header.answers or header.failed)
