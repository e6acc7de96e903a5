"""Hands that evaluate turns: a participant waits for each."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from segarena.errors import EarlierNeeded, InvalidInput, SegarenaError
from segarena.work.jobs import Outcome, UnitResult
from segarena_server.audit_log import note
from segarena_server.db.orm_models import RunSample, Turn
from segarena_server.http.middleware import LOG
from segarena_server.jobs.claimed_row import LeasedRow
from segarena_server.jobs.evaluate_turn import evaluation_task
from segarena_server.jobs.lease import new_lease
from segarena_server.jobs.runner import RowRunner, WorkerProcess
from segarena_server.jobs.turn_evaluation import Evaluated, EvaluateTurn
from segarena_server.runs import run_repository
from segarena_server.site import Site
from segarena_server.storage.compression import pack
from segarena_server.turns import turn_repository
from segarena_server.turns.turn_repository import TurnKey

_LONGEST_NAME = 60


class TurnRunner(RowRunner[Turn]):
    """Evaluates turns, first of places that its process has at hand.

    Args:
        site: whose.
        process: what evaluates them.
    """

    def __init__(self, site: Site, process: WorkerProcess) -> None:
        super().__init__(site, process)
        self._worker = new_lease()[-_LONGEST_NAME:]
        self._is_at_hand = False
        self._free_at = self._evaluated_s = 0.0

    def one(self) -> bool:
        """Do a turn; False when there is none."""
        is_done = super().one()
        self._free_at = self.site.now() if is_done else self._free_at
        return is_done

    def key(self, row: Turn) -> TurnKey:
        """Return run, place and number."""
        return row.run_id, row.place, row.number

    def about(self, row: Turn) -> TurnKey:
        """Return the same: requests wait for a turn."""
        return self.key(row)

    def lease(self, session: Session, lease: str) -> Turn | None:
        """Return the next turn; note which process has the dialogues of its place, and whether it had them before."""
        turn = turn_repository.lease_next_turn(session, self._worker, lease, self.site.now())
        if turn is not None:
            place = session.get_one(RunSample, (turn.run_id, turn.place))
            self._is_at_hand = place.worker == self._worker
            place.worker = self._worker
        return turn

    def outcome(self, row: Turn, hold: LeasedRow) -> Outcome[Any, Any]:
        """Evaluate a turn; with all turns before it, if the process does not have its dialogues at hand."""
        limit_s = self.site.settings.limits.hard_s
        outcome = self.process.do(self._step(row, is_at_hand=self._is_at_hand), hold.beat, limit_s)
        if not isinstance(outcome, UnitResult) and isinstance(outcome.error, EarlierNeeded):
            outcome = self.process.do(self._step(row, is_at_hand=False), hold.beat, limit_s)
        self._evaluated_s = outcome.seconds
        self._log(row)
        return outcome

    def write(self, row: Turn, hold: LeasedRow, result: Evaluated, session: Session) -> None:
        """Write the response, the state of the place and that of the run, or nothing."""
        now = max(self.site.now(), row.received_at)  # the clock may have been set back
        values = {"response": pack(result.reply), "given": result.given, "judged": result.judged}
        values |= {"digest": result.digest, "evaluated_s": self._evaluated_s}
        is_ours = hold.finish(session, state="done", done_at=now, **values)
        if is_ours and result.is_over:
            run_repository.end_run_sample(session, row.run_id, row.place, now)

    def makes_work(self, result: Evaluated) -> bool:
        """Tell whether a run may wait to be ended; of what is asked next the participant knows first."""
        return result.is_over

    def refuse(self, row: Turn, hold: LeasedRow, error: InvalidInput, session: Session) -> None:
        """Write that the turn cannot be; another one may come in its place."""
        hold.finish(session, state="refused", failure=str(error))

    @staticmethod
    def fail(
        site: Site, row: Turn, hold: LeasedRow, error: SegarenaError, session: Session
    ) -> None:
        """Let it wait again; after the last try its run ends, and takes nothing of the quota."""
        if hold.give_up(session, str(error)) == "dead":
            run_repository.refund_run(
                session,
                row.run_id,
                site.now(),
                "a sample could not be evaluated; the organiser sees why",
            )
            note(
                session,
                site.now(),
                "turn failed",
                f"{row.run_id} {row.place} {row.number}: {error}",
            )

    def _log(self, row: Turn) -> None:
        """Say how long it waited because this hand was not free, and how long it took its process."""
        queued_s = round(max(0.0, self._free_at - row.received_at), 4)
        told = {"turn": "/".join(map(str, self.key(row))), "queued_s": queued_s, "tries": row.tries}
        LOG.info("evaluated", extra={"told": told | {"evaluated_s": round(self._evaluated_s, 4)}})

    def _step(self, turn: Turn, *, is_at_hand: bool) -> EvaluateTurn:
        with self.site.database.reading() as session:
            return evaluation_task(session, self.site, turn, is_at_hand=is_at_hand)
