"""Submissions in the database: stored once, inspected, and then accepted or refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from sqlalchemy import event, func, select
from sqlalchemy.orm import Session, object_session

from segarena.errors import StoreError
from segarena.protocol.challenge_info import ParticipationMode
from segarena.segmenters.workers.sandbox import Sandbox
from segarena_server import http_errors
from segarena_server.audit_log import record_event
from segarena_server.auth.teams import is_own, team_of
from segarena_server.challenges.challenge_repository import description_of, find_phase, pool_of
from segarena_server.challenges.description import Phase
from segarena_server.challenges.sample_selection import draw_samples
from segarena_server.challenges.submissions.submission_cache import MaskSample, SubmissionContent
from segarena_server.db.orm_models import Challenge, Run, Submission
from segarena_server.jobs.job_queue import INSPECT_SUBMISSION, JUDGE_SAMPLE, enqueue_job
from segarena_server.runs import run_repository
from segarena_server.runs.admission import admission_refusal
from segarena_server.server_log import LOG
from segarena_server.settings import SubmissionSettings
from segarena_server.site import Site
from segarena_server.storage.content_store import ContentStore

SUBMISSION_KINDS: tuple[ParticipationMode, ...] = tuple(
    kind for kind in get_args(ParticipationMode) if kind != "dialogue"
)

_MAX_WAITING = 3
"""Maximum number of a person's submissions to a phase that await inspection."""
_RETRY_S = 30.0
_MAX_LISTED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingSubmission:
    """A submission as it arrived.

    Attributes:
        asked: request for the run of the submission; its id is also the submission's id.
        run_id: for masks, the id of their run, else "".
        sha256, size: hash and size of the body; "" and 0 before the body is read.
    """

    asked: run_repository.RunRequest
    run_id: str
    sha256: str
    size: int


def check_may_send(
    session: Session,
    site: Site,
    challenge: Challenge,
    phase: Phase,
    person_id: int,
    incoming: IncomingSubmission,
) -> Submission | None:
    """Return the earlier submission with this id, or None for a new one that is allowed.

    Nothing is written, because this is also called before the body is read.

    Raises:
        Refusal: no submission is allowed now, or another one has this id.
    """
    known = session.get(Submission, incoming.asked.id)
    if known is not None:
        return _check_is_same(known, challenge, phase, person_id, incoming)
    kind = incoming.asked.kind
    run_repository.check_takes(phase, kind)
    if kind == "worker":
        _check_sandbox(site)
    waiting = (
        select(func.count())
        .select_from(Submission)
        .where(
            Submission.person_id == person_id,
            Submission.challenge_id == challenge.id,
            Submission.phase == phase.name,
            Submission.state == "waiting",
        )
    )
    if (session.scalar(waiting) or 0) >= _MAX_WAITING:
        raise http_errors.quota(
            f"{_MAX_WAITING} of your submissions await inspection; try again when one has been inspected",
            _RETRY_S,
        )
    if kind == "masks":
        _check_waits_for_masks(session, site, challenge, phase, person_id, incoming.run_id)
        return None
    if refused := admission_refusal(session, challenge, person_id):
        raise refused
    team_id = team_of(session, person_id)
    refused = run_repository.may_begin_now(session, challenge, phase, team_id, site.now())
    if refused:
        raise refused
    return None


def store_submission(
    session: Session,
    site: Site,
    challenge: Challenge,
    phase: Phase,
    person_id: int,
    incoming: IncomingSubmission,
) -> Submission:
    """Store a submission for inspection; return the existing one if it was sent before.

    Raises:
        Refusal: the submission is not allowed, or another one has this id.
    """
    known = check_may_send(session, site, challenge, phase, person_id, incoming)
    if known is not None:
        return known
    asked = incoming.asked
    submission = Submission(
        id=asked.id,
        challenge_id=challenge.id,
        phase=phase.name,
        person_id=person_id,
        kind=asked.kind,
        run_id=incoming.run_id or None,
        sha256=incoming.sha256,
        bytes=incoming.size,
        name=asked.name,
        segmenter=asked.segmenter,
        note=asked.note,
        sent_at=site.now(),
    )
    session.add(submission)
    session.flush()
    enqueue_job(session, INSPECT_SUBMISSION, submission.id, site.now())
    record_event(session, site.now(), f"{asked.kind} sent", submission.id, person_id=person_id)
    return submission


def own_submissions(session: Session, person_id: int | None) -> list[Submission]:
    """Return a person's latest submissions, newest first."""
    own = select(Submission).where(Submission.person_id == person_id)
    return list(session.scalars(own.order_by(Submission.sent_at.desc()).limit(_MAX_LISTED)))


def runs_without_masks(
    session: Session,
    challenge: Challenge,
    phase: Phase,
    person_id: int | None,
) -> list[Run]:
    """Return the open runs of a person or the person's team that await masks in a phase, newest first."""
    if person_id is None:
        return []
    open_runs = select(Run).where(
        Run.challenge_id == challenge.id,
        Run.phase == phase.name,
        Run.state == "open",
        Run.kind == "masks",
    )
    team_id = team_of(session, person_id)
    waiting: list[Run] = []
    for run in session.scalars(open_runs.order_by(Run.made_at.desc())):
        if is_own(run, team_id, person_id) and accepted_submission(session, run.id) is None:
            waiting.append(run)
    return waiting


def own_submission(
    session: Session,
    submission_id: str,
    person_id: int | None,
    *,
    organises: Callable[[int], bool] = run_repository.no_challenge,
) -> Submission:
    """Return a submission that the person made, or one to a challenge that the person manages.

    Raises:
        Refusal: the submission does not exist, or belongs to somebody else.
    """
    submission = session.get(Submission, submission_id)
    if submission is None:
        raise http_errors.unknown()
    if not (organises(submission.challenge_id) or submission.person_id == person_id):
        raise http_errors.unknown()
    return submission


def refuse_submission(
    site: Site,
    submission: Submission,
    faults: Sequence[str],
) -> None:
    """Refuse a submission because of its errors, without charging the quota; delete its content if unused."""
    submission.state = "refused"
    submission.told = json.dumps(list(faults))
    submission.done_at = site.now()
    session = object_session(submission)
    if session is None:
        return
    others_with_content = (
        select(func.count())
        .select_from(Submission)
        .where(
            Submission.sha256 == submission.sha256,
            Submission.id != submission.id,
            Submission.state != "refused",
        )
    )
    if not session.scalar(others_with_content):
        drop_when_written(session, site.folder.sent, submission.sha256)


def drop_when_written(
    session: Session,
    storage: ContentStore,
    name: str,
) -> None:
    """Delete a file after the transaction commits; after a rollback the file is still needed."""

    def remove(_: Session) -> None:
        try:
            storage.drop(name)
        except StoreError as error:  # the database no longer refers to the file
            LOG.warning("a file that nobody needs could not be deleted: %s", error)

    event.listen(session, "after_commit", remove, once=True)


def accept_submission(
    session: Session,
    site: Site,
    submission: Submission,
) -> None:
    """Start the run of a submission, unless it has masks for an existing one, and enqueue a job for each sample.

    If the run cannot start, or no longer accepts the masks, the submission is refused instead.
    """
    challenge = session.get_one(Challenge, submission.challenge_id)
    phase = find_phase(challenge, submission.phase)
    try:
        run = _run_for(session, challenge, phase, submission)
    except http_errors.Refusal as refusal:
        # A limit was reached, or the phase closed, during the inspection.
        refuse_submission(site, submission, [str(refusal)])
        return
    submission.state = "taken"
    submission.run_id = run.id
    submission.done_at = site.now()
    session.flush()
    for sample in run_repository.run_samples(session, run.id):
        enqueue_job(session, JUDGE_SAMPLE, f"{run.id} {sample.number}", site.now())


def accepted_submission(session: Session, run_id: str) -> Submission | None:
    """Return the submission whose answers are evaluated in a run, or None."""
    return session.scalar(
        select(Submission).where(Submission.run_id == run_id, Submission.state == "taken")
    )


def submission_content(site: Site, submission: Submission) -> SubmissionContent:
    """Return the reference that a worker process uses to read a submission."""
    settings = site.settings.sent
    return SubmissionContent(
        kind=cast("ParticipationMode", submission.kind),
        sha256=submission.sha256,
        storage=site.folder.sent,
        most_bytes=int(settings.unpacked_gb * 1e9),
        most_files=settings.files,
        sandbox=sandbox_of(settings),
        answer_s=settings.answer_s,
    )


def sandbox_of(settings: SubmissionSettings) -> Sandbox:
    """Return the sandbox for programs."""
    return Sandbox(
        command=settings.sandbox,
        python=settings.python,
        reads=settings.reads,
        devices=settings.devices,
        memory_gb=settings.memory_gb,
        disk_gb=settings.disk_gb,
        processes=settings.processes,
        start_s=settings.start_s,
    )


def expected_samples(
    session: Session,
    challenge: Challenge,
    submission: Submission,
) -> tuple[str, ...]:
    """Return the samples that a submitted run folder must contain; () for other kinds of submissions.

    A practice phase determines these samples in advance.
    """
    if submission.kind != "run":
        return ()
    phase = find_phase(challenge, submission.phase)
    pool = pool_of(session, challenge, description_of(challenge).pool(phase))
    return draw_samples(tuple(pool), phase, runs={})


def mask_samples(
    session: Session,
    site: Site,
    submission: Submission,
) -> tuple[MaskSample, ...]:
    """Return the samples of the run that masks belong to, in the run's order."""
    run = session.get_one(Run, submission.run_id)
    pool = pool_of(session, session.get_one(Challenge, run.challenge_id), run.pool)
    samples: list[MaskSample] = []
    for row in run_repository.run_samples(session, run.id):
        dialogues = json.loads(pool[row.sample].dialogues)
        samples.append(
            MaskSample(
                key=row.key,
                sha256=row.sha256,
                storage=site.folder.samples,
                objects=tuple(dialogue["objects"] for dialogue in dialogues),
            )
        )
    return tuple(samples)


def _check_is_same(
    known: Submission,
    challenge: Challenge,
    phase: Phase,
    person_id: int,
    incoming: IncomingSubmission,
) -> Submission:
    is_same_phase = known.challenge_id == challenge.id and known.phase == phase.name
    if known.person_id != person_id or not is_same_phase:
        raise http_errors.conflict(
            "id: another submission already has this id; generate a new UUID"
        )
    if incoming.sha256 not in ("", known.sha256):
        raise http_errors.conflict(
            "id: a submission with other content has this id; generate a new UUID"
        )
    return known


def _check_sandbox(site: Site) -> None:
    """Raise `Refusal` unless this machine can run programs in a sandbox."""
    fault = sandbox_of(site.settings.sent).fault()
    if fault:
        raise http_errors.Refusal(
            503,
            "busy",
            f"this server cannot run programs in a sandbox, so it accepts none: {fault}",
        )


def _check_waits_for_masks(
    session: Session,
    site: Site,
    challenge: Challenge,
    phase: Phase,
    person_id: int,
    run_id: str,
) -> None:
    run = run_repository.own_run(session, run_id, person_id)
    if (run.challenge_id, run.phase, run.kind) != (challenge.id, phase.name, "masks"):
        raise http_errors.unknown()
    run_repository.check_accepts_turns(session, run, site.now())
    if accepted_submission(session, run.id) is not None:
        raise http_errors.conflict(
            "this run already has masks, which are being evaluated; wait for the result"
        )


def _run_for(
    session: Session,
    challenge: Challenge,
    phase: Phase,
    submission: Submission,
) -> Run:
    """Return the run of a submission: for masks, the run that they belong to; otherwise a new one."""
    if submission.kind != "masks":
        asked = run_repository.RunRequest(
            id=submission.id,
            name=submission.name,
            segmenter=submission.segmenter,
            note=submission.note,
            kind=cast("ParticipationMode", submission.kind),
        )
        return run_repository.create_run(
            session, challenge, phase, submission.person_id, asked, submission.sent_at
        )
    run = session.get_one(Run, submission.run_id, with_for_update=True)
    if run.state != "open" or accepted_submission(session, run.id) is not None:
        raise http_errors.conflict(
            "this run is over, or already has other masks; fetch samples for another run"
        )
    return run
