"""Runs in the database: created within the limits of a phase, and ended once."""

from __future__ import annotations

import json
import secrets
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena.protocol.challenge_info import ParticipationMode
from segarena_server.auth.teams import circle_of, is_own, lock_circles, runs_counted, team_of
from segarena_server.challenges.challenge_repository import description_of, find_phase, pool_of
from segarena_server.challenges.description import Phase
from segarena_server.challenges.ladder import decide_step
from segarena_server.challenges.quotas import RunSpan, may_begin, must_end
from segarena_server.challenges.sample_selection import draw_samples
from segarena_server.db.datetimes import utc_datetime
from segarena_server.db.orm_models import Challenge, Person, Run, RunSample, Submission, Turn
from segarena_server.http import http_errors
from segarena_server.jobs.job_queue import AUDIT_RUN, END_RUN, enqueue_job
from segarena_server.mail.mail_outbox import queue_run_over_email

INTERACTIVE_KINDS = ("dialogue", "masks")
"""Kinds of runs whose participants see the samples.

Runs of other kinds are answered by the submission.
"""

_INSTRUCTIONS: dict[ParticipationMode, str] = {
    "dialogue": "segarena run --challenge",
    "masks": "segarena fetch, then segarena submit",
    "run": "segarena submit FOLDER_OF_A_RUN",
    "worker": "segarena submit my_worker.py",
}
"""How to take part in each way, for error messages."""

_MAX_LENGTHS = {"name": 80, "segmenter": 500, "note": 2000}
"""Limits of the texts of a run, in characters."""

_SAMPLE_KEY_BYTES = 18
_NEXT_RUN_S = 0.001
"""Smallest distance between the begins of two runs of a team."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The request of a participant to begin a run.

    Attributes:
        id: a UUID made by the participant; the same id again is the same run.
        name, segmenter, note: as the participant describes the run.
        kind: how they take part.
    """

    id: str
    name: str
    segmenter: str
    note: str
    kind: ParticipationMode = "dialogue"

    def __post_init__(self) -> None:
        """Raise `Refusal` unless all fields are valid."""
        try:
            is_canonical = str(uuid.UUID(self.id)) == self.id
        except ValueError:
            is_canonical = False
        if not is_canonical:
            raise http_errors.invalid("id: expected a UUID in lower case")
        for field, most in _MAX_LENGTHS.items():
            text = str(getattr(self, field))
            if len(text) > most or not text.isprintable():
                raise http_errors.invalid(
                    f"{field}: expected at most {most} printable characters in a line"
                )


def create_run(
    session: Session,
    challenge: Challenge,
    phase: Phase,
    person_id: int,
    asked: RunRequest,
    now: float,
) -> Run:
    """Create a run with its samples and return it; return the known run when it was requested before.

    Raises:
        Refusal: the phase is not open, a limit is reached, or the id belongs to another run.
    """
    person = session.get_one(Person, person_id, with_for_update=True)
    # Without this lock two requests at once could both use the last run of a quota.
    lock_circles(session, person.team_id)
    known = session.get(Run, asked.id)
    if known is not None:
        return _check_is_same(known, challenge, phase, person_id, asked)
    phase = _locked_phase(session, challenge, phase)
    check_takes(phase, asked.kind)
    if refused := may_begin_now(session, challenge, phase, person.team_id, now):
        raise refused
    pool = description_of(challenge).pool(phase)
    samples = pool_of(session, challenge, pool)
    earlier_runs = _earlier_runs_by_sample(session, challenge, pool, person.team_id)
    busy = _busy_samples(session, person.team_id, asked.kind, earlier_runs)
    counts = Counter({sample: len(run_ids) for sample, run_ids in earlier_runs.items()})
    try:
        drawn = draw_samples(tuple(samples), phase, runs=counts, busy=busy)
    except InvalidInput as error:
        raise http_errors.quota(str(error), None) from error
    run = Run(
        id=asked.id,
        challenge_id=challenge.id,
        phase=phase.name,
        team_id=person.team_id,
        person_id=person_id,
        name=asked.name,
        segmenter=asked.segmenter,
        note=asked.note,
        kind=asked.kind,
        pool=pool,
        made_at=_after_earlier_runs(session, person.team_id, now),
    )
    session.add(run)
    session.flush()
    for number, name in enumerate(drawn):
        session.add(
            RunSample(
                run_id=run.id,
                number=number,
                key=secrets.token_urlsafe(_SAMPLE_KEY_BYTES),
                sample=name,
                sha256=samples[name].sha256,
                bytes=samples[name].bytes,
                past=json.dumps(earlier_runs[name]),
            )
        )
    return run


def may_begin_now(
    session: Session, challenge: Challenge, phase: Phase, team_id: int, now: float
) -> http_errors.Refusal | None:
    """Return the reason why a team may not begin a run; None if it may."""
    moment = utc_datetime(now)
    if challenge.state == "closed" or not phase.is_open(moment):
        refused = may_begin(phase, [], moment)
        reason = refused.reason if refused else f"challenge {challenge.slug} is closed"
        return http_errors.closed(reason)
    unfinished = _unfinished_runs(session, runs_counted(team_id))
    spans: list[RunSpan] = []
    for run in _runs_of_phase(session, challenge, phase, team_id):
        if not run.is_free:
            spans.append(_span(run, is_over=run.id not in unfinished))
    refused = may_begin(phase, spans, moment)
    return http_errors.quota(refused.reason, refused.retry_after_s) if refused else None


def check_takes(phase: Phase, kind: ParticipationMode) -> None:
    """Raise `Refusal` unless a phase takes runs of this kind."""
    if kind not in phase.takes:
        ways = " or ".join(_INSTRUCTIONS[way] for way in phase.takes)
        raise http_errors.invalid(
            f"phase {phase.name} takes {' and '.join(phase.takes)}, not {kind}: {ways}"
        )


def check_shows_samples(run: Run) -> None:
    """Raise `Refusal` unless the participant sees the samples of a run and answers them."""
    if run.kind not in INTERACTIVE_KINDS:
        raise http_errors.unknown()


def own_run(
    session: Session, run_id: str, person_id: int | None, *, is_organiser: bool = False
) -> Run:
    """Return a run that belongs to the team of a person or was begun by them; organisers may see all.

    Raises:
        Refusal: there is no such run, or it belongs to others.
    """
    run = session.get(Run, run_id)
    # The team is looked up for unknown runs too, so that the time of a refusal does not tell which ids exist.
    team_id = 0 if person_id is None else team_of(session, person_id)
    if run is None or person_id is None or not (is_organiser or is_own(run, team_id, person_id)):
        raise http_errors.unknown()
    return run


def run_samples(session: Session, run_id: str) -> list[RunSample]:
    """Return the samples of a run in order."""
    of_run = select(RunSample).where(RunSample.run_id == run_id)
    return list(session.scalars(of_run.order_by(RunSample.number)))


def find_run_sample(session: Session, run_id: str, key: str) -> RunSample:
    """Return a sample of a run by its key.

    Raises:
        Refusal: there is none under this key, or the participant does not see the samples of the run.
    """
    visible = (
        select(RunSample)
        .join(Run, Run.id == RunSample.run_id)
        .where(Run.kind.in_(INTERACTIVE_KINDS))
    )
    sample = session.scalar(visible.where(RunSample.run_id == run_id, RunSample.key == key))
    if sample is None:
        raise http_errors.unknown()
    return sample


def check_accepts_turns(session: Session, run: Run, now: float) -> None:
    """Raise `Refusal` unless a run takes further turns."""
    challenge = session.get_one(Challenge, run.challenge_id)
    phase = find_phase(challenge, run.phase)
    if run.state != "open" or must_end(phase, utc_datetime(now)) or challenge.state == "closed":
        raise http_errors.closed(run.fault or "this run is over: nothing more can be sent")


def request_end(session: Session, run: Run, now: float) -> bool:
    """Enqueue the job that ends an open run once its last turns are evaluated; return False if it is not open."""
    # Another request may just have ended the run.
    session.refresh(run, ["state"], with_for_update=True)
    if run.state != "open":
        return False
    run.state = "closing"
    enqueue_job(session, END_RUN, run.id, now)
    return True


def refund_run(session: Session, run_id: str, now: float, why: str) -> None:
    """End a run that failed by no fault of its participant, without charging the quota."""
    run = session.get(Run, run_id)
    if run is not None and request_end(session, run, now):
        run.is_free = True
        run.fault = why


def end_run_sample(session: Session, run_id: str, number: int, now: float) -> None:
    """Mark a sample of a run as over, and end the run after its last sample."""
    session.get_one(RunSample, (run_id, number)).state = "over"
    session.flush()
    open_samples = (
        select(func.count())
        .select_from(RunSample)
        .where(RunSample.run_id == run_id, RunSample.state == "open")
    )
    if not session.scalar(open_samples):
        request_end(session, session.get_one(Run, run_id), now)


def close_run(session: Session, run_id: str, now: float, *, extract: str, fault: str) -> None:
    """Close a run that was to be ended.

    Args:
        session: writes.
        run_id: of the run.
        now: seconds since 1970.
        extract: its values for boards as JSON; "" for none.
        fault: of the server, by which the run has no result; "" for none.
    """
    run = session.get_one(Run, run_id, with_for_update=True)
    if run.state != "closing":
        return
    run.state = "over"
    run.ended_at = max(now, run.made_at)  # the clock may have been set back
    run.extract = extract
    run.fault = run.fault or fault
    run.is_free = run.is_free or bool(fault)
    decide_step(session, run)
    if extract:
        enqueue_job(session, AUDIT_RUN, run.id, now)
    queue_run_over_email(session, run, now)


def overdue_runs(session: Session, now: float) -> list[str]:
    """Return the ids of open runs whose phase is closed and does not wait for them.

    A run with a submission that came in time stays open until it is judged, however long that takes.
    """
    pending = select(Submission.run_id).where(Submission.state.in_(("waiting", "taken")))
    awaits_judging = set(session.scalars(pending))
    open_runs = (
        select(Run, Challenge)
        .join(Challenge, Challenge.id == Run.challenge_id)
        .where(Run.state == "open")
    )
    overdue: list[str] = []
    moment = utc_datetime(now)
    for run, challenge in session.execute(open_runs):
        is_late = must_end(find_phase(challenge, run.phase), moment)
        if challenge.state == "closed" or (is_late and run.id not in awaits_judging):
            overdue.append(run.id)
    return overdue


def end_overdue_runs(session: Session, run_ids: Iterable[str], now: float) -> None:
    """End the runs that `overdue_runs` found."""
    for run_id in run_ids:
        run = session.get_one(Run, run_id, with_for_update=True)
        request_end(session, run, now)


def _locked_phase(session: Session, challenge: Challenge, phase: Phase) -> Phase:
    """Return a phase as it is now, and lock the challenge against changes until the transaction ends."""
    before = challenge.description
    session.refresh(challenge, with_for_update={"read": True})
    return phase if challenge.description == before else find_phase(challenge, phase.name)


def _check_is_same(
    known: Run, challenge: Challenge, phase: Phase, person_id: int, asked: RunRequest
) -> Run:
    """Return a known run; raise `Refusal` if a request of the same id differs from it."""
    is_same = (
        known.challenge_id == challenge.id
        and known.phase == phase.name
        and known.person_id == person_id
        and known.name == asked.name
        and known.segmenter == asked.segmenter
        and known.note == asked.note
        and known.kind == asked.kind
    )
    if not is_same:
        raise http_errors.conflict(
            "id: a run of this id is there and is another one; make a new UUID"
        )
    return known


def _after_earlier_runs(session: Session, team_id: int, now: float) -> float:
    """Return when a run begins: after all runs of the team's circle, even when the clock was set back."""
    of_circle = select(func.max(Run.made_at)).where(Run.team_id.in_(circle_of(session, team_id)))
    latest = session.scalar(of_circle)
    return now if latest is None else max(now, latest + _NEXT_RUN_S)


def _runs_of_phase(session: Session, challenge: Challenge, phase: Phase, team_id: int) -> list[Run]:
    of_phase = select(Run).where(Run.challenge_id == challenge.id, Run.phase == phase.name)
    return list(session.scalars(of_phase.where(runs_counted(team_id)).order_by(Run.made_at)))


def _unfinished_runs(session: Session, condition: ColumnElement[bool]) -> set[str]:
    """Return the ids of runs that are open, or have turns in evaluation.

    A run that only waits for its end is not among them: after the last reply a team may begin another one at once.
    """
    in_evaluation = select(Turn.run_id).where(Turn.state.in_(("waiting", "leased")))
    is_unfinished = (Run.state == "open") | ((Run.state == "closing") & Run.id.in_(in_evaluation))
    return set(session.scalars(select(Run.id).where(condition, is_unfinished)))


def _earlier_runs_by_sample(
    session: Session, challenge: Challenge, pool: str, team_id: int
) -> defaultdict[str, list[str]]:
    """Return the ids of the runs of a team's circle about each sample of a pool, oldest first."""
    rows = session.execute(
        select(RunSample.sample, Run.id)
        .join(Run, Run.id == RunSample.run_id)
        .where(
            Run.challenge_id == challenge.id,
            Run.pool == pool,
            Run.team_id.in_(circle_of(session, team_id)),
        )
        .order_by(Run.made_at, Run.id)
    )
    run_ids: defaultdict[str, list[str]] = defaultdict(list)
    for sample, run_id in rows:
        run_ids[sample].append(run_id)
    return run_ids


def _busy_samples(
    session: Session, team_id: int, kind: ParticipationMode, earlier_runs: Mapping[str, list[str]]
) -> set[str]:
    """Return the samples of unfinished runs of a team's circle, which no other run of it may be about.

    Nobody sees the prompts of a submitted program, so its samples may be in other runs at the same time.
    """
    if kind not in INTERACTIVE_KINDS:
        return set()
    of_circle = Run.team_id.in_(circle_of(session, team_id))
    unfinished = _unfinished_runs(session, of_circle & Run.kind.in_(INTERACTIVE_KINDS))
    return {
        sample for sample, run_ids in earlier_runs.items() if not unfinished.isdisjoint(run_ids)
    }


def _span(run: Run, *, is_over: bool) -> RunSpan:
    begun = utc_datetime(run.made_at)
    ended: datetime | None = None
    if is_over:
        # A closing run without turns in evaluation is over for the quota, and has no end yet.
        ended = utc_datetime(run.ended_at) if run.ended_at else begun
    return RunSpan(begun=begun, ended=ended)
