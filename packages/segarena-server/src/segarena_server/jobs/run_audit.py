"""Finding out about a run that is over what an organiser wants to know before anybody wins."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from segarena_server.auth.teams import circle_of
from segarena_server.challenges.audit_findings import RunAudit, save_audit
from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.challenges.duplicate_detection import (
    Similarity,
    max_similarity,
    similarity_of,
    sketch_of,
)
from segarena_server.challenges.leak_meter import Leak
from segarena_server.db.orm_models import Challenge, Finding, Job, Run, RunSample, Turn
from segarena_server.jobs.job_kind import JobKind
from segarena_server.jobs.job_queue import enqueue_job
from segarena_server.jobs.worker import WorkerContext
from segarena_server.runs.run_repository import FIND
from segarena_server.site import Site
from segarena_server.storage.run_folders import RunFolders

_MOST_READ = 8
"""Other runs whose masks are read, those first that their sketches make likeliest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRunTask:
    """The unit that finds out about a run.

    Attributes:
        challenge: its description.
        phase: of the run.
        run: its id.
        runs: where its folder is, and those of others.
        given: by sample, all prompts that its team ever got about it; empty in a practice.
        others: the sketches of runs of other teams in the phase.
    """

    challenge: str
    phase: str
    run: str
    runs: RunFolders
    given: dict[str, tuple[bytes, ...]]
    others: dict[str, bytes]

    def do(self, bench: WorkerContext, /) -> RunAudit:
        """Find it out."""
        evaluator = bench.evaluator(self.challenge)
        leaks: list[Leak] = []
        for number, (sample, given) in enumerate(self.given.items()):
            with bench.within(f"what prompts gave away, sample {number + 1} of {len(self.given)}"):
                leaks += evaluator.leaks(self.phase, sample, given).values()
        with bench.within("a sketch of its masks"):
            sketch = sketch_of(self.runs.fetch(self.run))
        return RunAudit(leaks=tuple(leaks), sketch=sketch, alike=self._alike(bench, sketch))

    def _alike(self, bench: WorkerContext, sketch: bytes) -> tuple[str, Similarity] | None:
        """Return the most alike of the others; a run whose sketch leaves it no larger share than that is not read."""
        bounds = {run: max_similarity(sketch, other) for run, other in self.others.items()}
        best: tuple[str, Similarity] | None = None
        for run in sorted(bounds, key=lambda run: -bounds[run])[:_MOST_READ]:
            if bounds[run] <= (best[1].share if best else 0.0):
                break
            with bench.within("masks beside those of another run"):
                likeness = similarity_of(self.runs.fetch(self.run), self.runs.fetch(run))
            if best is None or likeness.share > best[1].share:
                best = run, likeness
        return best


class AuditRun(JobKind):
    """The kind; each job is about the id of a run that is over."""

    name = FIND
    is_long = True

    def unit(self, session: Session, site: Site, job: Job) -> AuditRunTask | None:
        """Return what finds it out; None when the run came to nothing."""
        run = session.get(Run, job.about)
        if run is None or run.state != "over" or not run.extract:
            return None
        challenge = session.get_one(Challenge, run.challenge_id)
        is_test = find_phase(challenge, run.phase).kind == "test"
        return AuditRunTask(
            challenge=challenge.description,
            phase=run.phase,
            run=run.id,
            runs=site.folder.run_folders,
            given=_given(session, run) if is_test else {},
            others={row[0]: row[1] for row in session.execute(_others(session, run))},
        )

    def write(self, session: Session, site: Site, job: Job, result: RunAudit) -> None:
        """Keep it; once more, if another run was looked at meanwhile: of two at once neither saw the other."""
        run = session.get_one(Run, job.about)
        save_audit(session, run.id, site.now(), result)
        if session.scalar(
            _others(session, run).where(Finding.made_at >= (job.begun_at or 0.0)).limit(1)
        ):
            enqueue_job(session, FIND, run.id, site.now())


def _given(session: Session, run: Run) -> dict[str, tuple[bytes, ...]]:
    """Return all prompts that whose run it is ever got about its samples, in the order of giving."""
    own = select(RunSample.sample).where(RunSample.run_id == run.id)
    rows = session.execute(
        select(RunSample.sample, Turn.given)
        .join(Run, Run.id == Turn.run_id)
        .join(RunSample, (RunSample.run_id == Turn.run_id) & (RunSample.number == Turn.place))
        .where(
            Run.team_id.in_(circle_of(session, run.team_id)), Run.challenge_id == run.challenge_id
        )
        .where(Run.pool == run.pool, RunSample.sample.in_(own), Turn.state == "done")
        .order_by(Run.made_at, Run.id, RunSample.number, Turn.number)
    )
    found: defaultdict[str, list[bytes]] = defaultdict(list)
    for sample, given in rows:
        if given:
            found[sample].append(given)
    return {sample: tuple(packed) for sample, packed in found.items()}


def _others(session: Session, run: Run) -> Select[str, bytes]:
    """Return the query for runs of other teams in the phase that were looked at, with their sketches."""
    other = select(Run.id, Finding.sketch).join(Finding, Finding.run_id == Run.id)
    same = (Run.challenge_id == run.challenge_id) & (Run.phase == run.phase)
    return other.where(
        same, Run.state == "over", Run.team_id.not_in(circle_of(session, run.team_id))
    )
