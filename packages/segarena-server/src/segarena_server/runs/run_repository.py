"""Runs in the database: begun within the limits of a phase, and ended once."""

from __future__ import annotations

import json
import secrets
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena.protocol.challenge_info import ParticipationMode
from segarena_server.auth.teams import circle_of, hold, is_own, runs_counted, team_of
from segarena_server.challenges.challenge_repository import description_of, find_phase, pool_of
from segarena_server.challenges.description import Phase
from segarena_server.challenges.quotas import RunSpan, may_begin, must_end
from segarena_server.challenges.sample_selection import draw_samples
from segarena_server.challenges.team_ladder import decide_step
from segarena_server.db.datetimes import moment_of
from segarena_server.db.orm_models import Challenge, Person, Run, RunSample, Submission, Turn
from segarena_server.http import http_errors
from segarena_server.jobs.job_queue import AUDIT_RUN, END_RUN, enqueue_job
from segarena_server.mail.mail_outbox import tell_of_run

INTERACTIVE_KINDS = ("dialogue", "masks")
"""The kinds of runs whose participants see the samples; the others are answered by what they sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A run that a participant wants to begin.

    Attributes:
        id: made by them; the same again is the same run.
        name, segmenter, note: as they say.
        kind: how they take part.
    """

    id: str
    name: str
    segmenter: str
    note: str
    kind: ParticipationMode = "dialogue"

    def __post_init__(self) -> None:
        """Check it; raise `Refusal`."""
        try:
            is_plain = str(uuid.UUID(self.id)) == self.id
        except ValueError:
            is_plain = False
        if not is_plain:
            raise http_errors.invalid("id: expected a UUID in lower case")
        for field, most in (("name", 80), ("segmenter", 500), ("note", 2000)):
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
    """Return a run with its places; the one that is there when it was asked for before.

    Raises:
        Refusal: the phase is not open, a limit is reached, or the id is of another run.
    """
    person = session.get_one(Person, person_id, with_for_update=True)
    hold(session, person.team_id)  # two at once would both see the last free place
    known = session.get(Run, asked.id)
    if known is not None:
        return _same(known, challenge, phase, person_id, asked)
    phase = _as_it_is_now(session, challenge, phase)
    check_takes(phase, asked.kind)
    if refused := may_begin_now(session, challenge, phase, person.team_id, now):
        raise refused
    pool = description_of(challenge).pool(phase)
    prompted = _prompted(session, challenge, pool, person.team_id)
    shared = _going(
        session,
        Run.team_id.in_(circle_of(session, person.team_id)) & Run.kind.in_(INTERACTIVE_KINDS),
    )
    # Prompts of a program are given to nobody, so that its samples may be in other runs meanwhile.
    busy = {
        sample
        for sample, known in prompted.items()
        if asked.kind in INTERACTIVE_KINDS and shared.intersection(known)
    }
    samples = pool_of(session, challenge, pool)
    try:
        counts = Counter({sample: len(known) for sample, known in prompted.items()})
        drawn = draw_samples(tuple(samples), phase, runs=counts, busy=busy)
    except InvalidInput as error:
        raise http_errors.quota(str(error), None) from error
    run = Run(
        id=asked.id, challenge_id=challenge.id, phase=phase.name, team_id=person.team_id, person_id=person_id,
        name=asked.name, segmenter=asked.segmenter, note=asked.note, kind=asked.kind, pool=pool,
        made_at=_after_all_others(session, person.team_id, now),
    )  # fmt: skip
    session.add(run)
    session.flush()
    for number, name in enumerate(drawn):
        sample = samples[name]
        told = {
            "sample": name,
            "sha256": sample.sha256,
            "bytes": sample.bytes,
            "past": json.dumps(prompted[name]),
        }
        session.add(RunSample(run_id=run.id, number=number, key=secrets.token_urlsafe(18), **told))
    return run


def may_begin_now(
    session: Session, challenge: Challenge, phase: Phase, team_id: int, now: float
) -> http_errors.Refusal | None:
    """Return why a team may not begin a run; None if it may."""
    if (
        challenge.state == "closed"
        or phase.is_closed(moment_of(now))
        or not phase.is_open(moment_of(now))
    ):
        refused = may_begin(phase, [], moment_of(now))
        return http_errors.closed(
            refused.reason if refused else f"challenge {challenge.slug} is closed"
        )
    going = _going(session, runs_counted(team_id))
    earlier = _earlier(session, challenge, phase, team_id)
    spans = [_span(run, is_over=run.id not in going) for run in earlier if not run.is_free]
    refused = may_begin(phase, spans, moment_of(now))
    return http_errors.quota(refused.reason, refused.retry_after_s) if refused else None


def check_takes(phase: Phase, kind: ParticipationMode) -> None:
    """Raise `Refusal` unless one takes part in a phase so."""
    how = {
        "dialogue": "segarena run --challenge",
        "masks": "segarena fetch, then segarena submit",
        "run": "segarena submit FOLDER_OF_A_RUN",
        "worker": "segarena submit my_worker.py",
    }
    if kind not in phase.takes:
        ways = " or ".join(how[way] for way in phase.takes)
        raise http_errors.invalid(
            f"phase {phase.name} takes {' and '.join(phase.takes)}, not {kind}: {ways}"
        )


def check_shows_samples(run: Run) -> None:
    """Raise `Refusal` unless the participant sees the samples of a run, and answers them."""
    if run.kind not in INTERACTIVE_KINDS:
        raise http_errors.unknown()


def _as_it_is_now(session: Session, challenge: Challenge, phase: Phase) -> Phase:
    """Return a phase as it stays until the transaction ends: who changes the challenge waits, or was waited for."""
    before = challenge.description
    session.refresh(challenge, with_for_update={"read": True})
    return phase if challenge.description == before else find_phase(challenge, phase.name)


def own_run(
    session: Session, run_id: str, person_id: int | None, *, is_organiser: bool = False
) -> Run:
    """Return a run of a person: of their team, or begun by them; organisers may see all.

    Raises:
        Refusal: there is none, or it is somebody else's.
    """
    run = session.get(Run, run_id)
    team_id = (
        0 if person_id is None else team_of(session, person_id)
    )  # as much work for what is not there
    if run is None or person_id is None or not (is_organiser or is_own(run, team_id, person_id)):
        raise http_errors.unknown()
    return run


def run_samples(session: Session, run_id: str) -> list[RunSample]:
    """Return the places of a run, in order."""
    return list(
        session.scalars(
            select(RunSample).where(RunSample.run_id == run_id).order_by(RunSample.number)
        )
    )


def find_run_sample(session: Session, run_id: str, key: str) -> RunSample:
    """Return a place of a run whose participant sees the samples.

    Raises:
        Refusal: there is none under this key.
    """
    of_shown = (
        select(RunSample)
        .join(Run, Run.id == RunSample.run_id)
        .where(Run.kind.in_(INTERACTIVE_KINDS))
    )
    place = session.scalar(of_shown.where(RunSample.run_id == run_id, RunSample.key == key))
    if place is None:
        raise http_errors.unknown()
    return place


def check_accepts_turns(session: Session, run: Run, now: float) -> None:
    """Raise `Refusal` unless turns of a run may come."""
    challenge = session.get_one(Challenge, run.challenge_id)
    phase = find_phase(challenge, run.phase)
    if run.state != "open" or must_end(phase, moment_of(now)) or challenge.state == "closed":
        raise http_errors.closed(run.fault or "this run is over: nothing more can be sent")


def request_end(session: Session, run: Run, now: float) -> bool:
    """Have a run ended, if it is open; a job does it once its last turns are evaluated."""
    session.refresh(run, ["state"], with_for_update=True)  # somebody else may just have ended it
    if run.state != "open":
        return False
    run.state = "closing"
    enqueue_job(session, END_RUN, run.id, now)
    return True


def refund_run(session: Session, run_id: str, now: float, why: str) -> None:
    """Have a run ended that comes to nothing by no fault of its participant; it takes nothing of the quota."""
    run = session.get(Run, run_id)
    if run is not None and request_end(session, run, now):
        run.is_free = True
        run.fault = why


def end_run_sample(session: Session, run_id: str, number: int, now: float) -> None:
    """Note that nothing more will be asked about a sample; after the last one the run waits to be ended."""
    place = session.get_one(RunSample, (run_id, number))
    place.state = "over"
    session.flush()
    left = (
        select(func.count())
        .select_from(RunSample)
        .where(RunSample.run_id == run_id, RunSample.state == "open")
    )
    run = session.get_one(Run, run_id)
    if not session.scalar(left):
        request_end(session, run, now)


def close_run(session: Session, run_id: str, now: float, *, extract: str, fault: str) -> None:
    """End a run for good, unless it goes on after all; `fault` says why nothing came of it."""
    run = session.get_one(Run, run_id, with_for_update=True)
    if run.state != "closing":
        return
    run.state, run.ended_at, run.extract = (
        "over",
        max(now, run.made_at),
        extract,
    )  # the clock may have been set back
    run.fault = run.fault or fault
    run.is_free = run.is_free or bool(fault)
    decide_step(session, run)
    if extract:
        enqueue_job(session, AUDIT_RUN, run.id, now)
    tell_of_run(session, run, now)


def overdue_runs(session: Session, now: float) -> list[str]:
    """Return the open runs of phases that are over and do not wait for them.

    What was sent in time is judged, however long that takes.
    """
    found: list[str] = []
    was_sent = set(
        session.scalars(select(Submission.run_id).where(Submission.state.in_(("waiting", "taken"))))
    )
    for run, challenge in session.execute(
        select(Run, Challenge)
        .join(Challenge, Challenge.id == Run.challenge_id)
        .where(Run.state == "open")
    ):
        phase = find_phase(challenge, run.phase)
        if challenge.state == "closed" or (
            must_end(phase, moment_of(now)) and run.id not in was_sent
        ):
            found.append(run.id)
    return found


def end_overdue_runs(session: Session, run_ids: Iterable[str], now: float) -> None:
    """Have runs ended whose time is over."""
    for run_id in run_ids:
        request_end(session, session.get_one(Run, run_id, with_for_update=True), now)


def _same(known: Run, challenge: Challenge, phase: Phase, person_id: int, asked: RunRequest) -> Run:
    told = (
        known.challenge_id,
        known.phase,
        known.person_id,
        known.name,
        known.segmenter,
        known.note,
        known.kind,
    )
    if told != (
        challenge.id,
        phase.name,
        person_id,
        asked.name,
        asked.segmenter,
        asked.note,
        asked.kind,
    ):
        raise http_errors.conflict(
            "id: a run of this id is there and is another one; make a new UUID"
        )
    return known


def _after_all_others(session: Session, team_id: int, now: float) -> float:
    """Return when a run begins: after the earlier ones of its circle, even when the clock was set back."""
    latest = session.scalar(
        select(func.max(Run.made_at)).where(Run.team_id.in_(circle_of(session, team_id)))
    )
    return now if latest is None else max(now, latest + 0.001)


def _earlier(session: Session, challenge: Challenge, phase: Phase, team_id: int) -> list[Run]:
    of_phase = select(Run).where(Run.challenge_id == challenge.id, Run.phase == phase.name)
    return list(session.scalars(of_phase.where(runs_counted(team_id)).order_by(Run.made_at)))


def _going(session: Session, whose: ColumnElement[bool]) -> set[str]:
    """Return the runs that may still be asked something, or of which something is being evaluated.

    One that only waits to be ended is none of them: whoever has the last reply may begin another at once.
    """
    unjudged = select(Turn.run_id).where(Turn.state.in_(("waiting", "leased")))
    goes_on = (Run.state == "open") | ((Run.state == "closing") & Run.id.in_(unjudged))
    return set(session.scalars(select(Run.id).where(whose, goes_on)))


def _prompted(
    session: Session, challenge: Challenge, pool: str, team_id: int
) -> defaultdict[str, list[str]]:
    """Return which runs of a team's circle were about each sample of a pool, the first one first."""
    found = session.execute(
        select(RunSample.sample, Run.id)
        .join(Run, Run.id == RunSample.run_id)
        .where(
            Run.challenge_id == challenge.id,
            Run.pool == pool,
            Run.team_id.in_(circle_of(session, team_id)),
        )
        .order_by(Run.made_at, Run.id)
    )
    runs: defaultdict[str, list[str]] = defaultdict(list)
    for sample, run in found:
        runs[sample].append(run)
    return runs


def _span(run: Run, *, is_over: bool) -> RunSpan:
    begun = moment_of(run.made_at)
    return RunSpan(
        begun=begun, ended=(moment_of(run.ended_at) if run.ended_at else begun) if is_over else None
    )
