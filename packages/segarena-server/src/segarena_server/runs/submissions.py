"""What participants send to be judged here, in the database: received once, looked at, taken or refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, get_args

from sqlalchemy import event, func, select
from sqlalchemy.orm import Session, object_session

from segarena.errors import StoreError
from segarena.protocol.challenge_info import ParticipationMode
from segarena.segmenters.workers.sandbox import Sandbox
from segarena_server.audit_log import note
from segarena_server.auth.teams import is_own, team_of
from segarena_server.challenges.challenge_repository import description_of, find_phase, pool_of
from segarena_server.challenges.description import Phase
from segarena_server.challenges.sample_selection import draw_samples
from segarena_server.db.orm_models import Challenge, Run, Submission
from segarena_server.http import http_errors
from segarena_server.http.middleware import LOG
from segarena_server.jobs.job_queue import INSPECT_SUBMISSION, JUDGE_SAMPLE, enqueue_job
from segarena_server.jobs.submission_cache import MaskSample, SubmissionContent
from segarena_server.runs import run_repository
from segarena_server.settings import Sent
from segarena_server.site import Site
from segarena_server.storage.content_store import Storage

SUBMISSION_KINDS: tuple[ParticipationMode, ...] = tuple(
    kind for kind in get_args(ParticipationMode) if kind != "dialogue"
)

_MOST_WAITING = 3
"""So many submissions of one person to a phase may wait to be looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingSubmission:
    """Something that came.

    Attributes:
        asked: the run that is to begin with it; its id is that of the submission.
        run_id: of the run that masks are for, else "".
        sha256, size: of its bytes; "" and 0 before these are read.
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
    came: IncomingSubmission,
) -> Submission | None:
    """Return what came before under this id; raise `Refusal` unless something may be sent now.

    Nothing is written: this is asked before the body is read, too.
    """
    known = session.get(Submission, came.asked.id)
    if known is not None:
        if (known.person_id, known.challenge_id, known.phase) != (
            person_id,
            challenge.id,
            phase.name,
        ):
            raise http_errors.conflict("id: something of this id was sent before; make a new UUID")
        if came.sha256 not in ("", known.sha256):
            raise http_errors.conflict("id: something else was sent under this id; make a new UUID")
        return known
    run_repository.check_takes(phase, came.asked.kind)
    if came.asked.kind == "worker" and (why := sandbox_of(site.settings.sent).fault()):
        raise http_errors.Refusal(
            503, "busy", f"programs cannot be confined here yet, so none are taken: {why}"
        )
    waiting = select(func.count()).select_from(Submission).where(
        Submission.person_id == person_id, Submission.phase == phase.name, Submission.state == "waiting"
    )  # fmt: skip
    if (session.scalar(waiting) or 0) >= _MOST_WAITING:
        raise http_errors.quota(
            f"{_MOST_WAITING} of yours wait to be looked at; send this when one is", 30.0
        )
    if came.asked.kind == "masks":
        _check_waits_for_masks(session, site, challenge, phase, person_id, came.run_id)
    elif refused := run_repository.may_begin_now(
        session, challenge, phase, team_of(session, person_id), site.now()
    ):
        raise refused
    return None


def store_submission(
    session: Session,
    site: Site,
    challenge: Challenge,
    phase: Phase,
    person_id: int,
    came: IncomingSubmission,
) -> Submission:
    """Return what came, kept and waiting to be looked at; or as it stands, if it came before.

    Raises:
        Refusal: it may not be sent, or something else came before under this id.
    """
    known = check_may_send(session, site, challenge, phase, person_id, came)
    if known is not None:
        return known
    asked = came.asked
    sent = Submission(
        id=asked.id, challenge_id=challenge.id, phase=phase.name, person_id=person_id, kind=asked.kind,
        run_id=came.run_id or None, sha256=came.sha256, bytes=came.size, name=asked.name, segmenter=asked.segmenter,
        note=asked.note, sent_at=site.now(),
    )  # fmt: skip
    session.add(sent)
    session.flush()
    enqueue_job(session, INSPECT_SUBMISSION, sent.id, site.now())
    note(session, site.now(), f"{asked.kind} sent", sent.id, person_id=person_id)
    return sent


def own_submissions(session: Session, person_id: int | None) -> list[Submission]:
    """Return the newest that a person sent."""
    own = select(Submission).where(Submission.person_id == person_id)
    return list(session.scalars(own.order_by(Submission.sent_at.desc()).limit(50)))


def runs_without_masks(
    session: Session, challenge: Challenge, phase: Phase, person_id: int | None
) -> list[Run]:
    """Return the open runs of a person that wait for masks, the newest first."""
    if person_id is None:
        return []
    open_ones = select(Run).where(
        Run.challenge_id == challenge.id, Run.phase == phase.name, Run.state == "open"
    )
    found = session.scalars(open_ones.where(Run.kind == "masks").order_by(Run.made_at.desc()))
    team = team_of(session, person_id)
    return [
        run
        for run in found
        if is_own(run, team, person_id) and accepted_submission(session, run.id) is None
    ]


def own_submission(
    session: Session, submission_id: str, person_id: int | None, *, is_organiser: bool = False
) -> Submission:
    """Return what a person sent; organisers may see all.

    Raises:
        Refusal: there is none, or it is somebody else's.
    """
    found = session.get(Submission, submission_id)
    if found is None or not (is_organiser or found.person_id == person_id):
        raise http_errors.unknown()
    return found


def refuse_submission(site: Site, sent: Submission, faults: Sequence[str]) -> None:
    """Note what is wrong with something; it costs nothing, and its bytes are not kept."""
    sent.state = "refused"
    sent.told = json.dumps(list(faults))
    sent.done_at = site.now()
    session = object_session(sent)
    used = select(func.count()).select_from(Submission).where(
        Submission.sha256 == sent.sha256, Submission.id != sent.id, Submission.state != "refused"
    )  # fmt: skip
    if session is not None and not session.scalar(used):
        drop_when_written(session, site.folder.sent, sent.sha256)


def drop_when_written(session: Session, storage: Storage, name: str) -> None:
    """Delete a file of somebody's once the transaction is on disk: one that comes to nothing needs it still."""

    def remove(_: Session) -> None:
        try:
            storage.drop(name)
        except StoreError as error:  # that nobody needs it is written by now
            LOG.warning("a file that nobody needs could not be deleted: %s", error)

    event.listen(session, "after_commit", remove, once=True)


def accept_submission(session: Session, site: Site, sent: Submission) -> None:
    """Have something judged: its run begins, unless it is of masks, and each sample of it is a job."""
    challenge = session.get_one(Challenge, sent.challenge_id)
    phase = find_phase(challenge, sent.phase)
    try:
        run = _run_for(session, site, challenge, phase, sent)
    except (
        http_errors.Refusal
    ) as refusal:  # the limit was reached, or the phase closed, while it was looked at
        refuse_submission(site, sent, [str(refusal)])
        return
    sent.state = "taken"
    sent.run_id = run.id
    sent.done_at = site.now()
    session.flush()
    for place in run_repository.run_samples(session, run.id):
        enqueue_job(session, JUDGE_SAMPLE, f"{run.id} {place.number}", site.now())


def accepted_submission(session: Session, run_id: str) -> Submission | None:
    """Return what a run is judged by."""
    return session.scalar(
        select(Submission).where(Submission.run_id == run_id, Submission.state == "taken")
    )


def submission_content(site: Site, sent: Submission) -> SubmissionContent:
    """Return what a process needs to read something."""
    settings = site.settings.sent
    return SubmissionContent(
        kind=cast("ParticipationMode", sent.kind),
        sha256=sent.sha256,
        storage=site.folder.sent,
        most_bytes=int(settings.unpacked_gb * 1e9),
        sandbox=sandbox_of(settings),
        answer_s=settings.answer_s,
    )


def sandbox_of(settings: Sent) -> Sandbox:
    """Return what confines programs."""
    return Sandbox(
        command=settings.sandbox,
        python=settings.python,
        reads=settings.reads,
        memory_gb=settings.memory_gb,
        disk_gb=settings.disk_gb,
        processes=settings.processes,
        start_s=settings.start_s,
    )


def expected_samples(session: Session, challenge: Challenge, sent: Submission) -> tuple[str, ...]:
    """Return the samples that a run folder must be about: in a practice they are known before the run begins."""
    if sent.kind != "run":
        return ()
    phase = find_phase(challenge, sent.phase)
    return draw_samples(
        tuple(pool_of(session, challenge, description_of(challenge).pool(phase))), phase, runs={}
    )


def mask_samples(session: Session, site: Site, sent: Submission) -> tuple[MaskSample, ...]:
    """Return the samples of a run that masks are for, in its order."""
    run = session.get_one(Run, sent.run_id)
    samples = pool_of(session, session.get_one(Challenge, run.challenge_id), run.pool)
    return tuple(
        MaskSample(
            key=place.key,
            sha256=place.sha256,
            storage=site.folder.samples,
            objects=tuple(one["objects"] for one in json.loads(samples[place.sample].dialogues)),
        )
        for place in run_repository.run_samples(session, run.id)
    )


def _check_waits_for_masks(
    session: Session, site: Site, challenge: Challenge, phase: Phase, person_id: int, run_id: str
) -> None:
    run = run_repository.own_run(session, run_id, person_id)
    if (run.challenge_id, run.phase, run.kind) != (challenge.id, phase.name, "masks"):
        raise http_errors.unknown()
    run_repository.check_accepts_turns(session, run, site.now())
    if accepted_submission(session, run.id) is not None:
        raise http_errors.conflict("masks for this run were taken before, and are being judged")


def _run_for(
    session: Session, site: Site, challenge: Challenge, phase: Phase, sent: Submission
) -> Run:
    if sent.kind != "masks":
        asked = run_repository.RunRequest(
            id=sent.id,
            name=sent.name,
            segmenter=sent.segmenter,
            note=sent.note,
            kind=cast("ParticipationMode", sent.kind),
        )
        return run_repository.create_run(
            session, challenge, phase, sent.person_id, asked, sent.sent_at
        )
    run = session.get_one(Run, sent.run_id, with_for_update=True)
    if run.state != "open" or accepted_submission(session, run.id) is not None:
        raise http_errors.conflict("this run is over, or is judged by other masks")
    return run
