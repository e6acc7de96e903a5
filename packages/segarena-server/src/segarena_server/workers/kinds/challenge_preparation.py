"""Jobs for challenges described on a page: preview, creation and change. Opening samples is too slow for a request."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sqlalchemy import delete
from sqlalchemy.orm import Session

from segarena_server.challenges import challenge_management
from segarena_server.challenges.description import (
    ChallengeDescription,
    challenge_text,
    read_challenge,
)
from segarena_server.challenges.sample_pool import (
    PhasePreview,
    SamplePool,
    build_pool,
    pools_of,
    preview_phases,
)
from segarena_server.db.orm_models import Job
from segarena_server.site import Site
from segarena_server.storage.content_store import ContentStore
from segarena_server.workers.job_runner import JobKind
from segarena_server.workers.worker import WorkerContext

_DRAFT_LIFETIME_S = 30 * 86400.0


class ChallengeJobRequest(NamedTuple):
    """Input of one of these jobs.

    Attributes:
        challenge: the challenge with its seeds.
        by: the person for the audit log.
        changes: slug of the challenge to change; "" for a new one.
    """

    challenge: ChallengeDescription
    by: dict[str, Any]
    changes: str

    def text(self) -> str:
        """Return the request as JSON for `Job.told`."""
        return json.dumps(
            {"challenge": challenge_text(self.challenge), "by": self.by, "changes": self.changes}
        )

    @classmethod
    def of(cls, job: Job) -> ChallengeJobRequest:
        """Return the request of a job."""
        fields = json.loads(job.told)
        return cls(read_challenge(fields["challenge"]), fields["by"], fields["changes"])


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewChallengeTask:
    """The task of previewing the phases of a challenge."""

    challenge: str

    def __call__(self, context: WorkerContext, /) -> list[PhasePreview]:
        """Return a preview of each phase."""
        evaluator = context.evaluator(self.challenge)
        described = read_challenge(self.challenge)
        return preview_phases(evaluator, described, context.sample_time_limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPoolTask:
    """The task of storing samples in the form that participants download.

    Attributes:
        challenge: description of the challenge as JSON.
        pools: datasets whose samples are stored.
        storage: store for the samples.
    """

    challenge: str
    pools: tuple[str, ...]
    storage: ContentStore

    def __call__(self, context: WorkerContext, /) -> SamplePool:
        """Store the samples and return the pool."""
        evaluator = context.evaluator(self.challenge)
        described = read_challenge(self.challenge)
        return build_pool(evaluator, described, self.pools, self.storage, context.sample_time_limit)


class PreviewChallenge(JobKind):
    """Previews a draft of a challenge; `about` of each job is a new random name."""

    name = "look at challenge"
    is_long = True

    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> PreviewChallengeTask:
        """Return the task."""
        challenge = ChallengeJobRequest.of(job).challenge
        return PreviewChallengeTask(challenge=challenge_text(challenge))

    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: list[PhasePreview],
    ) -> None:
        """Store the previews for the page of the draft."""
        job.said = json.dumps([asdict(phase) for phase in result])


class MakeChallenge(JobKind):
    """Creates a challenge; `about` of each job is the challenge's slug."""

    name = "make challenge"
    is_long = True

    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> BuildPoolTask:
        """Return the task that stores its samples."""
        requested = ChallengeJobRequest.of(job).challenge
        described = challenge_management.prepare_new_challenge(site, requested)
        return BuildPoolTask(
            challenge=challenge_text(described),
            pools=tuple(pools_of(described)),
            storage=site.folder.samples,
        )

    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: SamplePool,
    ) -> None:
        """Insert the challenge."""
        request = ChallengeJobRequest.of(job)
        challenge_management.insert_challenge(
            session, site.now(), request.challenge, result, request.by
        )
        job.said = _pool_summary(result)


class ChangeChallenge(JobKind):
    """Changes the benchmark or the data of a challenge; `about` of each job is the challenge's slug."""

    name = "change challenge"
    is_long = True

    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> BuildPoolTask:
        """Return the task that stores the missing samples."""
        request = ChallengeJobRequest.of(job)
        described, pools = challenge_management.prepare_change(
            site, request.changes, request.challenge
        )
        return BuildPoolTask(
            challenge=challenge_text(described), pools=tuple(pools), storage=site.folder.samples
        )

    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: SamplePool,
    ) -> None:
        """Update the challenge."""
        request = ChallengeJobRequest.of(job)
        challenge_management.update_challenge(
            session, site.now(), request.challenge, result, request.by
        )
        job.said = _pool_summary(result)


def delete_old_drafts(session: Session, now: float) -> None:
    """Delete finished previews of drafts that are older than a month."""
    is_old = (
        Job.kind == PreviewChallenge.name,
        Job.state.in_(("done", "dead")),
        Job.made_at < now - _DRAFT_LIFETIME_S,
    )
    session.connection().execute(delete(Job).where(*is_old))


def _pool_summary(pool: SamplePool) -> str:
    """Return the figures of a pool as JSON, in the form that the page of a draft reads."""
    return json.dumps(
        {
            "samples": pool.samples,
            "dialogues": pool.dialogues,
            "bytes": pool.bytes,
            "unusable": pool.unusable,
        }
    )
