"""Looking at what was sent, before it costs anything: all that is wrong with it is told at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy.orm import Session

from segarena.engine.sample_job import time_limit_of
from segarena.errors import InvalidInput, PluginInvalid, SegarenaError
from segarena_server.challenges.description import read_challenge
from segarena_server.challenges.run_plan import participant_plan
from segarena_server.challenges.submissions import masks, programs, runs
from segarena_server.db.orm_models import Challenge, Job, Submission
from segarena_server.jobs.job_kind import JobKind
from segarena_server.jobs.submission_cache import (
    MaskSample,
    SubmissionContent,
    UnpackedSubmission,
    process_cache,
)
from segarena_server.jobs.worker import WorkerContext
from segarena_server.runs import submissions
from segarena_server.site import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectSubmissionTask:
    """Say what is wrong with something.

    Attributes:
        content: what.
        challenge: its description.
        phase: which phase.
        samples: that a run is about, where they are known before it begins.
        places: of the run that masks are for.
    """

    content: SubmissionContent
    challenge: str
    phase: str
    samples: tuple[str, ...] = ()
    places: tuple[MaskSample, ...] = ()

    def do(self, bench: WorkerContext, /) -> tuple[str, ...]:
        """Return what is wrong, in lines.

        Raises:
            PluginInvalid: programs cannot be confined here.
        """
        try:
            unpacked = process_cache().unpacked(self.content)
        except InvalidInput as error:
            return (str(error),)
        try:
            return tuple(self._faults(bench, unpacked))[: masks.MAX_FAULTS]
        finally:
            process_cache().forget()

    def _faults(self, bench: WorkerContext, unpacked: UnpackedSubmission) -> Iterator[str]:
        challenge = read_challenge(self.challenge)
        plan = participant_plan(challenge, challenge.phase(self.phase))
        match self.content.kind:
            case "masks":
                yield from masks.mask_faults(
                    unpacked.root, [place.expected() for place in self.places]
                )
            case "run":
                faults = runs.run_faults(unpacked.root, plan, self.samples)
                yield from faults or self._differences(bench, unpacked)
            case _:
                if why := self.content.sandbox.fault():
                    raise PluginInvalid(why)
                yield from programs.program_faults(
                    unpacked.start, plan, limit_s=self.content.answer_s
                )

    def _differences(self, bench: WorkerContext, unpacked: UnpackedSubmission) -> Iterator[str]:
        plan, cast = bench.evaluator(self.challenge).cast(self.phase)
        sent = runs.SubmittedRun(unpacked.root)
        limit = time_limit_of(plan)
        for name in self.samples:
            yield from sent.judge(name, cast, limit).faults


class InspectSubmission(JobKind):
    """The kind; each job is about the id of a submission."""

    name = submissions.INSPECT_SUBMISSION
    is_long = True

    def unit(self, session: Session, site: Site, job: Job) -> InspectSubmissionTask | None:
        """Return what looks at it."""
        sent = session.get(Submission, job.about)
        if sent is None or sent.state != "waiting":
            return None
        challenge = session.get_one(Challenge, sent.challenge_id)
        return InspectSubmissionTask(
            content=submissions.submission_content(site, sent),
            challenge=challenge.description,
            phase=sent.phase,
            samples=submissions.expected_samples(session, challenge, sent),
            places=submissions.mask_samples(session, site, sent) if sent.run_id else (),
        )

    def write(self, session: Session, site: Site, job: Job, result: tuple[str, ...]) -> None:
        """Refuse it, or have it judged."""
        sent = session.get_one(Submission, job.about)
        if sent.state != "waiting":
            return  # whose it was has deleted their account meanwhile
        if result:
            submissions.refuse_submission(site, sent, result)
        else:
            submissions.accept_submission(session, site, sent)

    def fail(self, session: Session, site: Site, job: Job, error: SegarenaError) -> None:
        """It was not looked at, and costs nothing."""
        sent = session.get_one(Submission, job.about)
        sent.state = "dead"
        sent.failure = str(error)
        sent.done_at = site.now()
        sent.told = json.dumps(
            ["it could not be looked at, by a fault of this server; the organiser sees which"]
        )
