"""Challenges that are described on a page: looked at, made and changed by jobs, since opening samples takes time."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
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
    ProgressContext,
    SamplePool,
    build_pool,
    pools_of,
    preview_phases,
)
from segarena_server.db.orm_models import Job
from segarena_server.jobs.job_kind import JobKind
from segarena_server.jobs.worker import WorkerContext
from segarena_server.site import Site
from segarena_server.storage.content_store import Storage

_DRAFTS_LAST_S = 30 * 86400.0


class ChallengeJobRequest(NamedTuple):
    """What such a job is told: a challenge, with seeds; whom the audit log names; which one it changes, "" for none."""

    challenge: ChallengeDescription
    by: dict[str, Any]
    changes: str

    def text(self) -> str:
        """Return it as the table has it."""
        return json.dumps(
            {"challenge": challenge_text(self.challenge), "by": self.by, "changes": self.changes}
        )

    @classmethod
    def of(cls, job: Job) -> ChallengeJobRequest:
        """Return what a job was told."""
        found = json.loads(job.told)
        return cls(read_challenge(found["challenge"]), found["by"], found["changes"])


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewChallengeTask:
    """The unit that looks at what a challenge would be."""

    challenge: str

    def do(self, bench: WorkerContext, /) -> list[PhasePreview]:
        """Return what its phases would be."""
        return preview_phases(
            bench.evaluator(self.challenge), read_challenge(self.challenge), _watch(bench)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPoolTask:
    """The unit that lays samples ready.

    Attributes:
        challenge: its description.
        pools: whose samples.
        storage: where they are kept.
    """

    challenge: str
    pools: tuple[str, ...]
    storage: Storage

    def do(self, bench: WorkerContext, /) -> SamplePool:
        """Return what lies ready."""
        described = read_challenge(self.challenge)
        return build_pool(
            bench.evaluator(self.challenge), described, self.pools, self.storage, _watch(bench)
        )


class PreviewChallenge(JobKind):
    """The kind; each job is about a draft, under a name that nobody else has."""

    name = "look at challenge"
    is_long = True

    def unit(self, session: Session, site: Site, job: Job) -> PreviewChallengeTask:
        """Return what looks at it."""
        return PreviewChallengeTask(challenge=challenge_text(ChallengeJobRequest.of(job).challenge))

    def write(self, session: Session, site: Site, job: Job, result: list[PhasePreview]) -> None:
        """Keep what it would be."""
        job.said = json.dumps([asdict(phase) for phase in result])


class MakeChallenge(JobKind):
    """The kind; each job is about the slug of a challenge to be."""

    name = "make challenge"
    is_long = True

    def unit(self, session: Session, site: Site, job: Job) -> BuildPoolTask:
        """Return what lays its samples ready."""
        described = challenge_management.prepare_new_challenge(
            site, ChallengeJobRequest.of(job).challenge
        )
        return BuildPoolTask(
            challenge=challenge_text(described),
            pools=tuple(pools_of(described)),
            storage=site.folder.samples,
        )

    def write(self, session: Session, site: Site, job: Job, result: SamplePool) -> None:
        """Add the challenge."""
        told = ChallengeJobRequest.of(job)
        challenge_management.insert_challenge(session, site.now(), told.challenge, result, told.by)
        job.said = _said(result)


class ChangeChallenge(JobKind):
    """The kind; each job is about the slug of a challenge whose benchmark or data change."""

    name = "change challenge"
    is_long = True

    def unit(self, session: Session, site: Site, job: Job) -> BuildPoolTask:
        """Return what lays the samples ready that do not lie there."""
        told = ChallengeJobRequest.of(job)
        described, pools = challenge_management.prepare_change(site, told.changes, told.challenge)
        return BuildPoolTask(
            challenge=challenge_text(described), pools=tuple(pools), storage=site.folder.samples
        )

    def write(self, session: Session, site: Site, job: Job, result: SamplePool) -> None:
        """Write what the challenge is now."""
        told = ChallengeJobRequest.of(job)
        challenge_management.update_challenge(session, site.now(), told.challenge, result, told.by)
        job.said = _said(result)


def delete_old_drafts(session: Session, now: float) -> None:
    """Forget what challenges would be that nobody made within a month."""
    is_old = (
        Job.kind == PreviewChallenge.name,
        Job.state.in_(("done", "dead")),
        Job.made_at < now - _DRAFTS_LAST_S,
    )
    session.connection().execute(delete(Job).where(*is_old))


def _said(laid: SamplePool) -> str:
    return json.dumps(
        {
            "samples": laid.samples,
            "dialogues": laid.dialogues,
            "bytes": laid.bytes,
            "unusable": laid.unusable,
        }
    )


def _watch(bench: WorkerContext) -> ProgressContext:
    @contextmanager
    def watch(done: int, of: int) -> Generator[None]:
        with bench.within(f"sample {done + 1} of {of}"):
            yield

    return watch
