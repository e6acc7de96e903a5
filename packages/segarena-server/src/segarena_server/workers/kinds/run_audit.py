"""The job that audits a finished run.

It measures how much the run's prompts leak, whether its masks show knowledge of prompts that it did
not receive, and how similar it is to other teams' runs.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from segarena.engine.run_folder import RunFolder
from segarena_server.auth.teams import circle_of
from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.challenges.duplicate_detection import (
    Similarity,
    max_similarity,
    similarity_of,
    sketch_of,
)
from segarena_server.challenges.leak_meter import Leak, summarise_leaks
from segarena_server.challenges.prompt_knowledge_test import (
    DialogueExcess,
    KnowledgeTest,
    measure_knowledge,
)
from segarena_server.db.orm_models import Challenge, Job, Run, RunFinding, RunSample, Turn
from segarena_server.jobs.job_queue import AUDIT_RUN, enqueue_job
from segarena_server.site import Site
from segarena_server.storage.run_folders import RunFolders
from segarena_server.workers.job_runner import JobKind
from segarena_server.workers.worker import WorkerContext

_MAX_OTHER_DIALOGUES = 20
"""Maximum number of other runs about a sample whose prompts are tested; more would dilute the evidence of a few."""

_MAX_COMPARED_RUNS = 8
"""Maximum number of other runs whose masks are read, in descending order of the similarity bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAudit:
    """The result of an audit.

    Attributes:
        leaks: how much the team's prompts reveal of each target; empty in a practice phase.
        knowledge: whether the masks show knowledge of prompts in other runs; None in a practice phase.
        sketch: sketch of the run's masks; see `segarena_server.challenges.duplicate_detection`.
        most_similar: id and similarity of the most similar run of another team; None without another run
            whose sketch allows equal masks.
    """

    leaks: tuple[Leak, ...]
    knowledge: KnowledgeTest | None
    sketch: bytes
    most_similar: tuple[str, Similarity] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRunTask:
    """The task of auditing a run.

    Attributes:
        challenge: description of the challenge as JSON.
        phase: phase of the run.
        run_id: id of the run.
        run_folders: folders of all runs.
        prompts: all prompts that the team ever received, by sample; empty in a practice phase.
        others: prompts of other runs before this run ended, by sample and run; None in a practice phase.
        sketches: sketches of other teams' runs in the phase, by run id.
    """

    challenge: str
    phase: str
    run_id: str
    run_folders: RunFolders
    prompts: dict[str, tuple[bytes, ...]]
    others: dict[str, tuple[tuple[bytes, ...], ...]] | None
    sketches: dict[str, bytes]

    def __call__(self, context: WorkerContext, /) -> RunAudit:
        """Measure leaks, knowledge and similarity."""
        evaluator = context.evaluator(self.challenge)
        leaks: list[Leak] = []
        for number, (sample, prompts) in enumerate(self.prompts.items(), start=1):
            activity = f"leak of the prompts, sample {number} of {len(self.prompts)}"
            with context.time_limit(activity):
                leaks += evaluator.leaks(self.phase, sample, prompts).values()
        with context.time_limit("sketch of the masks"):
            sketch = sketch_of(self.run_folders.fetch(self.run_id))
        return RunAudit(
            leaks=tuple(leaks),
            knowledge=self._knowledge(context),
            sketch=sketch,
            most_similar=self._most_similar(context, sketch),
        )

    def _knowledge(self, context: WorkerContext) -> KnowledgeTest | None:
        if self.others is None:
            return None
        evaluator = context.evaluator(self.challenge)
        by_sample: dict[str, list[DialogueExcess]] = {}
        for number, (sample, others) in enumerate(self.others.items(), start=1):
            activity = f"the test for knowledge, sample {number} of {len(self.others)}"
            with context.time_limit(activity):
                run = RunFolder.open(self.run_folders.fetch(self.run_id))
                by_sample[sample] = evaluator.knowledge(self.phase, sample, run, others)
        return measure_knowledge(by_sample)

    def _most_similar(self, context: WorkerContext, sketch: bytes) -> tuple[str, Similarity] | None:
        """Return the most similar other run, or None; skip runs whose sketches exclude a larger similarity."""
        bounds = {run_id: max_similarity(sketch, other) for run_id, other in self.sketches.items()}
        likeliest = sorted(bounds, key=lambda run_id: -bounds[run_id])[:_MAX_COMPARED_RUNS]
        best: tuple[str, Similarity] | None = None
        for run_id in likeliest:
            best_share = best[1].share if best else 0.0
            if bounds[run_id] <= best_share:
                break
            with context.time_limit("comparison with another run"):
                own_folder = self.run_folders.fetch(self.run_id)
                similarity = similarity_of(own_folder, self.run_folders.fetch(run_id))
            if best is None or similarity.share > best_share:
                best = (run_id, similarity)
        return best


class AuditRun(JobKind):
    """Audits a finished run; `about` of each job is the run id."""

    name = AUDIT_RUN
    is_long = True

    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> AuditRunTask | None:
        """Return the task, or None if the run has no result."""
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
            others=_prompts_of_others(session, run) if is_test else None,
            sketches={row[0]: row[1] for row in others},
        )

    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: RunAudit,
    ) -> None:
        """Store the audit, and repeat it if another run was audited at the same time.

        In that case neither audit included the other run.
        """
        run = session.get_one(Run, job.about)
        _save_audit(session, run.id, site.now(), result)
        meanwhile = _audited_runs_of_others(session, run).where(
            RunFinding.made_at >= (job.begun_at or 0.0)
        )
        if session.scalar(meanwhile.limit(1)):
            enqueue_job(session, AUDIT_RUN, run.id, site.now())


def _save_audit(
    session: Session,
    run_id: str,
    now: float,
    audit: RunAudit,
) -> None:
    """Write the audit of a run, replacing an earlier one."""
    leaks = summarise_leaks([leak.peak for leak in audit.leaks])
    run_id_of_other, similarity = audit.most_similar or (None, Similarity(share=0.0, compared=0))
    row = session.get(RunFinding, run_id)
    if row is None:
        row = RunFinding(run_id=run_id)
        session.add(row)
    row.made_at = now
    row.targets = leaks.targets
    row.prompts = sum(leak.prompts for leak in audit.leaks)
    row.blind_mean = leaks.mean
    row.blind_p95 = leaks.p95
    row.blind_highest = leaks.highest
    knowledge = audit.knowledge
    row.knowledge_p = knowledge.p if knowledge else None
    row.knowledge_excess = knowledge.excess if knowledge else None
    row.knowledge_samples = knowledge.samples if knowledge else 0
    row.alike_run_id = run_id_of_other
    row.alike_share = similarity.share
    row.alike_compared = similarity.compared
    row.sketch = audit.sketch


def _received_prompts(session: Session, run: Run) -> dict[str, tuple[bytes, ...]]:
    """Return all prompts that the team's circle ever received about the samples of a run, oldest first."""
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


def _prompts_of_others(session: Session, run: Run) -> dict[str, tuple[tuple[bytes, ...], ...]]:
    """Return other runs' prompts about a run's samples, sent before this run ended, by sample and other run.

    At most `_MAX_OTHER_DIALOGUES` runs are returned for each sample. Runs of the team's circle come
    first, because it certainly knows their prompts.
    """
    own_samples = select(RunSample.sample).where(RunSample.run_id == run.id)
    rows = session.execute(
        select(RunSample.sample, Turn.run_id, Run.team_id, Turn.given)
        .join(Run, Run.id == Turn.run_id)
        .join(RunSample, (RunSample.run_id == Turn.run_id) & (RunSample.number == Turn.place))
        .where(Run.challenge_id == run.challenge_id, Run.pool == run.pool, Run.id != run.id)
        .where(RunSample.sample.in_(own_samples), Turn.state == "done")
        .where(Turn.received_at < (run.ended_at or 0.0))
        .order_by(Run.made_at, Run.id, RunSample.number, Turn.number)
    )
    circle = set(session.scalars(circle_of(session, run.team_id)))
    own: defaultdict[str, dict[str, list[bytes]]] = defaultdict(dict)
    others: defaultdict[str, dict[str, list[bytes]]] = defaultdict(dict)
    for sample, run_id, team_id, given in rows:
        if given:
            dialogues = own if team_id in circle else others
            dialogues[sample].setdefault(run_id, []).append(given)
    prompts: dict[str, tuple[tuple[bytes, ...], ...]] = {}
    for sample in own.keys() | others.keys():
        runs = [*own[sample].values(), *others[sample].values()]
        prompts[sample] = tuple(tuple(packed) for packed in runs[:_MAX_OTHER_DIALOGUES])
    return dict(sorted(prompts.items()))


def _audited_runs_of_others(session: Session, run: Run) -> Select[str, bytes]:
    """Return the query for audited runs of other teams in the same phase, with their sketches."""
    audited = select(Run.id, RunFinding.sketch).join(RunFinding, RunFinding.run_id == Run.id)
    same_phase = (Run.challenge_id == run.challenge_id) & (Run.phase == run.phase)
    own_circle = circle_of(session, run.team_id)
    return audited.where(same_phase, Run.state == "over", Run.team_id.not_in(own_circle))
