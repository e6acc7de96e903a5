"""The job that inspects a submission before it counts towards quotas, and reports all errors at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy.orm import Session

from segarena.engine.plan import time_limit_of
from segarena.errors import InvalidInput, PluginInvalid, SegarenaError
from segarena_server.challenges.description import read_challenge
from segarena_server.challenges.run_plan import participant_plan
from segarena_server.challenges.submissions import masks, programs, runs
from segarena_server.challenges.submissions.submission_cache import (
    MaskSample,
    SubmissionContent,
    UnpackedSubmission,
    process_cache,
)
from segarena_server.db.orm_models import Challenge, Job, Submission
from segarena_server.jobs.job_queue import INSPECT_SUBMISSION
from segarena_server.runs import submissions
from segarena_server.site import Site
from segarena_server.workers.job_runner import JobKind
from segarena_server.workers.worker import WorkerContext


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectSubmissionTask:
    """The task of inspecting a submission.

    Attributes:
        content: content of the submission.
        challenge: description of the challenge as JSON.
        phase: name of the phase.
        samples: samples of a run in the phase, if known in advance.
        mask_samples: samples of the run that submitted masks belong to.
    """

    content: SubmissionContent
    challenge: str
    phase: str
    samples: tuple[str, ...] = ()
    mask_samples: tuple[MaskSample, ...] = ()

    def __call__(self, context: WorkerContext, /) -> tuple[str, ...]:
        """Return the errors, one line each, at most `masks.MAX_FAULTS` of them.

        Raises:
            PluginInvalid: this machine cannot run programs in a sandbox.
        """
        cache = process_cache()
        try:
            unpacked = cache.unpacked(self.content)
        except InvalidInput as error:
            return (str(error),)
        try:
            return first_faults(tuple(self._faults(context, unpacked)))
        finally:
            cache.clear()

    def _faults(self, context: WorkerContext, unpacked: UnpackedSubmission) -> Iterator[str]:
        challenge = read_challenge(self.challenge)
        plan = participant_plan(challenge, challenge.phase(self.phase))
        match self.content.kind:
            case "masks":
                expected = [sample.expected_masks() for sample in self.mask_samples]
                yield from masks.mask_faults(unpacked.root, expected)
            case "run":
                faults = runs.run_faults(unpacked.root, plan, self.samples)
                yield from faults or self._differences(context, unpacked)
            case _:
                if why := self.content.sandbox.fault():
                    raise PluginInvalid(why)
                limit_s = self.content.answer_s
                yield from programs.program_faults(unpacked.start, plan, limit_s=limit_s)

    def _differences(self, context: WorkerContext, unpacked: UnpackedSubmission) -> Iterator[str]:
        """Yield the differences between a run folder and its replayed dialogues."""
        plan, cast = context.evaluator(self.challenge).cast(self.phase)
        submitted = runs.SubmittedRun(unpacked.root)
        limit = time_limit_of(plan)
        for name in self.samples:
            yield from submitted.rejudge(name, cast, limit).faults


class InspectSubmission(JobKind):
    """Inspects a submission; `about` of each job is the submission id."""

    name = INSPECT_SUBMISSION
    is_long = True

    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> InspectSubmissionTask | None:
        """Return the task, or None if the submission is no longer waiting."""
        submission = session.get(Submission, job.about)
        if submission is None or submission.state != "waiting":
            return None
        challenge = session.get_one(Challenge, submission.challenge_id)
        if submission.run_id:
            mask_samples = submissions.mask_samples(session, site, submission)
        else:
            mask_samples = ()
        return InspectSubmissionTask(
            content=submissions.submission_content(site, submission),
            challenge=challenge.description,
            phase=submission.phase,
            samples=submissions.expected_samples(session, challenge, submission),
            mask_samples=mask_samples,
        )

    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: tuple[str, ...],
    ) -> None:
        """Refuse a submission with errors, or accept one without."""
        submission = session.get_one(Submission, job.about)
        if submission.state != "waiting":
            return  # its owner has deleted the account meanwhile
        if result:
            submissions.refuse_submission(site, submission, result)
        else:
            submissions.accept_submission(session, site, submission)

    def fail(
        self,
        session: Session,
        site: Site,
        job: Job,
        error: SegarenaError,
    ) -> None:
        """Mark the submission as dead because of a server fault; it does not count towards quotas."""
        submission = session.get_one(Submission, job.about)
        submission.state = "dead"
        submission.failure = str(error)
        submission.done_at = site.now()
        message = "a server fault prevented the inspection; the organiser can see the reason"
        submission.told = json.dumps([message])


def first_faults(faults: tuple[str, ...]) -> tuple[str, ...]:
    """Return at most `MAX_FAULTS` errors; a last line gives the number of further ones."""
    left = len(faults) - masks.MAX_FAULTS
    return faults if left <= 0 else (*faults[: masks.MAX_FAULTS], f"and {left} more")
