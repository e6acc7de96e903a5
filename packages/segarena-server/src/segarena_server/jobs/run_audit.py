"""The job that audits a finished run: information leaked by its prompts, and near-duplicate runs of other teams."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from segarena_server.auth.teams import circle_of
from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.challenges.duplicate_detection import (
    Similarity,
    max_similarity,
    similarity_of,
    sketch_of,
)
from segarena_server.challenges.leak_meter import Leak
from segarena_server.db.orm_models import Challenge, Job, Run, RunFinding, RunSample, Turn
from segarena_server.jobs.job_kind import JobKind
from segarena_server.jobs.job_queue import AUDIT_RUN, enqueue_job
from segarena_server.jobs.worker import WorkerContext
from segarena_server.site import Site
from segarena_server.storage.run_folders import RunFolders

_MAX_COMPARED_RUNS = 8
"""Other runs whose masks are read, in descending order of the similarity that their sketches allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAudit:
    """The result of an audit.

    Attributes:
        leaks: leak of the team's prompts about each target; empty in a practice.
        sketch: of the masks of the run; see `segarena_server.challenges.duplicate_detection`.
        most_similar: id of the most similar run of another team, and the similarity; None when there is no other run.
    """

    leaks: tuple[Leak, ...]
    sketch: bytes
    most_similar: tuple[str, Similarity] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRunTask:
    """The task of auditing a run.

    Attributes:
        challenge: its description as JSON.
        phase: of the run.
        run_id: of the run.
        run_folders: where the folders of all runs are.
        prompts: by sample, all prompts that the team ever received about it; empty in a practice.
        sketches: of the runs of other teams in the phase, by their id.
    """

    challenge: str
    phase: str
    run_id: str
    run_folders: RunFolders
    prompts: dict[str, tuple[bytes, ...]]
    sketches: dict[str, bytes]

    def run(self, context: WorkerContext, /) -> RunAudit:
        """Measure leaks and similarity."""
        evaluator = context.evaluator(self.challenge)
        leaks: list[Leak] = []
        for number, (sample, prompts) in enumerate(self.prompts.items(), start=1):
            activity = f"what prompts gave away, sample {number} of {len(self.prompts)}"
            with context.time_limit(activity):
                leaks += evaluator.leaks(self.phase, sample, prompts).values()
        with context.time_limit("a sketch of its masks"):
            sketch = sketch_of(self.run_folders.fetch(self.run_id))
        return RunAudit(
            leaks=tuple(leaks), sketch=sketch, most_similar=self._most_similar(context, sketch)
        )

    def _most_similar(self, context: WorkerContext, sketch: bytes) -> tuple[str, Similarity] | None:
        """Return the most similar other run; a run is not read when its sketch excludes a larger similarity."""
        bounds = {run_id: max_similarity(sketch, other) for run_id, other in self.sketches.items()}
        likeliest = sorted(bounds, key=lambda run_id: -bounds[run_id])[:_MAX_COMPARED_RUNS]
        best: tuple[str, Similarity] | None = None
        for run_id in likeliest:
            best_share = best[1].share if best else 0.0
            if bounds[run_id] <= best_share:
                break
            with context.time_limit("masks beside those of another run"):
                own_folder = self.run_folders.fetch(self.run_id)
                similarity = similarity_of(own_folder, self.run_folders.fetch(run_id))
            if best is None or similarity.share > best_share:
                best = (run_id, similarity)
        return best


class AuditRun(JobKind):
    """Audits a finished run; each job is about the id of a run."""

    name = AUDIT_RUN
    is_long = True

    def task(self, session: Session, site: Site, job: Job) -> AuditRunTask | None:
        """Return the task; None when the run has no result."""
        run = session.get(Run, job.about)
        if run is None or run.state != "over" or not run.extract:
            return None
        challenge = session.get_one(Challenge, run.challenge_id)
        is_test = find_phase(challenge, run.phase).kind == "test"
        others = session.execute(_audited_runs_of_others(session, run))
        return AuditRunTask(
            challenge=challenge.description,
            phase=run.phase,
            run_id=run.id,
            run_folders=site.folder.run_folders,
            prompts=_received_prompts(session, run) if is_test else {},
            sketches={row[0]: row[1] for row in others},
        )

    def write(self, session: Session, site: Site, job: Job, result: RunAudit) -> None:
        """Store the audit; repeat it if another run was audited meanwhile, as neither of the two saw the other."""
        run = session.get_one(Run, job.about)
        _save_audit(session, run.id, site.now(), result)
        meanwhile = _audited_runs_of_others(session, run).where(
            RunFinding.made_at >= (job.begun_at or 0.0)
        )
        if session.scalar(meanwhile.limit(1)):
            enqueue_job(session, AUDIT_RUN, run.id, site.now())


def _save_audit(session: Session, run_id: str, now: float, audit: RunAudit) -> None:
    """Write the audit of a run over an earlier one."""
    peaks = [leak.peak for leak in audit.leaks]
    run_id_of_other, similarity = audit.most_similar or (None, Similarity(share=0.0, compared=0))
    row = session.get(RunFinding, run_id)
    if row is None:
        row = RunFinding(run_id=run_id)
        session.add(row)
    row.made_at = now
    row.targets = len(peaks)
    row.prompts = sum(leak.prompts for leak in audit.leaks)
    row.blind_mean = sum(peaks) / len(peaks) if peaks else None
    row.blind_highest = max(peaks, default=None)
    row.alike_run_id = run_id_of_other
    row.alike_share = similarity.share
    row.alike_compared = similarity.compared
    row.sketch = audit.sketch


def _received_prompts(session: Session, run: Run) -> dict[str, tuple[bytes, ...]]:
    """Return all prompts that the team or its circle ever received about the samples of a run, oldest first."""
    own_samples = select(RunSample.sample).where(RunSample.run_id == run.id)
    rows = session.execute(
        select(RunSample.sample, Turn.given)
        .join(Run, Run.id == Turn.run_id)
        .join(RunSample, (RunSample.run_id == Turn.run_id) & (RunSample.number == Turn.place))
        .where(
            Run.team_id.in_(circle_of(session, run.team_id)), Run.challenge_id == run.challenge_id
        )
        .where(Run.pool == run.pool, RunSample.sample.in_(own_samples), Turn.state == "done")
        .order_by(Run.made_at, Run.id, RunSample.number, Turn.number)
    )
    prompts: defaultdict[str, list[bytes]] = defaultdict(list)
    for sample, given in rows:
        if given:
            prompts[sample].append(given)
    return {sample: tuple(packed) for sample, packed in prompts.items()}


def _audited_runs_of_others(session: Session, run: Run) -> Select[str, bytes]:
    """Return the query for audited runs of other teams in the same phase, with their sketches."""
    audited = select(Run.id, RunFinding.sketch).join(RunFinding, RunFinding.run_id == Run.id)
    same_phase = (Run.challenge_id == run.challenge_id) & (Run.phase == run.phase)
    own_circle = circle_of(session, run.team_id)
    return audited.where(same_phase, Run.state == "over", Run.team_id.not_in(own_circle))
