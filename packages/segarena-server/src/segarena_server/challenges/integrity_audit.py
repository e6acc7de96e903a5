"""The integrity audit for organisers: leaked information and near-duplicate runs.

A job audits each run when it ends (`segarena_server.workers.kinds.run_audit`); pages and the
command line read the results through this module.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session, defer

from segarena.reports.boards.extracts import Extract, read_extract
from segarena.reports.cells import Cell, Value
from segarena.reports.sheets import Sheet
from segarena_server.challenges.challenge_management import existing_challenge
from segarena_server.challenges.duplicate_detection import Similarity
from segarena_server.challenges.ladder_mechanism import ladder_score
from segarena_server.challenges.prompt_knowledge_test import ALPHA, correct_over_runs
from segarena_server.db.orm_models import Challenge, Job, Run, RunFinding, Team
from segarena_server.jobs.job_queue import AUDIT_RUN
from segarena_server.site import Site

BLIND_IOU_NOTE = (
    "Blind: the IoU of the mask that follows from all prompts of a team without the sample, each pixel "
    "labelled as the nearest prompt; for videos, the best frame. Mean, 95th percentile and maximum over "
    "targets. A score that is not above this IoU does not show that the run used the image."
)

KNOWLEDGE_NOTE = (
    "Knowledge: how much more often the first masks of a run are right at points of prompts in other runs than at "
    "matched points, about which nobody was prompted; p of a permutation test over samples, corrected for the "
    "audited runs of the phase (Holm). In an honest run, they are right there less often. "
    "If p is below .05, the organiser should ask the team for an explanation."
)

_BLIND_MARGIN = 0.02
"""Flag a run if its IoU exceeds the blind IoU by at most this much.

If a run submits the blind masks themselves, its IoU differs from the blind IoU only by rounding.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedRun:
    """A finished run and the results of its audit.

    Attributes:
        run: row of the run.
        team: name of the team.
        measure: statistic that the board ranks by.
        score: mean of this statistic over targets and users; None without values.
        iou: IoU after the last round, for the user with the highest mean; None if the benchmark does not measure it.
        finding: result of the audit; None until the audit is done.
        knowledge_p: p-value of the test for knowledge, corrected for the number of audited runs; None without a
            test.
        alike: the most similar run of another team, and that team; None without one.
        failure: why the audit failed; "" if it did not.
        failed: number of failed dialogues.
        unloaded: number of samples that the dataset could not load.
        left: number of samples that the run never started.
    """

    run: Run
    team: str
    measure: str
    score: float | None
    iou: float | None
    finding: RunFinding | None
    knowledge_p: float | None
    alike: tuple[Run, str] | None
    failure: str
    failed: int
    unloaded: int
    left: int

    @property
    def knows_others_prompts(self) -> bool:
        """Whether the masks show knowledge of prompts in other runs, corrected for the number of audited runs."""
        return self.knowledge_p is not None and self.knowledge_p <= ALPHA

    @property
    def flags(self) -> list[str]:
        """Findings that the organiser should inspect, one line each."""
        flags: list[str] = []
        if self.run.unranked:
            flags.append(f"not ranked: {self.run.unranked}")
        finding = self.finding
        if finding is not None and self.alike is not None:
            similarity = Similarity(share=finding.alike_share, compared=finding.alike_compared)
            if similarity.is_near:
                flags.append(f"very similar to {_run_and_team(self.alike)}")
        blind = finding.blind_mean if finding else None
        if self.iou is not None and blind is not None and self.iou <= blind + _BLIND_MARGIN:
            flags.append("no better than its prompts alone")
        if self.knows_others_prompts:
            flags.append("shows knowledge of prompts that it did not receive")
        if self.failed > 0:
            flags.append(f"failed dialogues, missing from all means: {self.failed}")
        if self.unloaded > 0:
            flags.append(f"samples not loaded, missing from all means: {self.unloaded}")
        if self.left > 0:
            flags.append(f"samples not started: {self.left}")
        return flags


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedRun:
    """A run and the result of its test for knowledge.

    Attributes:
        id, name: id and name of the run.
        team: name of the team.
        excess: as `RunFinding.knowledge_excess`.
        p: p-value, corrected for the number of audited runs in the phase.
    """

    id: str
    name: str
    team: str
    excess: float
    p: float

    @property
    def knows_others_prompts(self) -> bool:
        """Whether the masks show knowledge of prompts in other runs."""
        return self.p <= ALPHA


def tested_runs(
    session: Session,
    challenge: Challenge,
    phase: str,
) -> list[TestedRun]:
    """Return the runs of a phase that were tested for knowledge, in the order in which they ended."""
    p_values = corrected_knowledge(session, {(challenge.id, phase)})
    named = (
        select(Run.id, Run.name, Team.name, RunFinding.knowledge_excess)
        .join(Team, Team.id == Run.team_id)
        .join(RunFinding, RunFinding.run_id == Run.id)
        .where(Run.challenge_id == challenge.id, Run.phase == phase, Run.extract != "")
        .order_by(Run.ended_at, Run.id)
    )
    tested: list[TestedRun] = []
    for run_id, name, team, excess in session.execute(named):
        if run_id in p_values:
            p = p_values[run_id]
            tested.append(TestedRun(id=run_id, name=name, team=team, excess=excess or 0.0, p=p))
    return tested


def audit_challenge(session: Session, challenge: Challenge) -> list[AuditedRun]:
    """Return the finished runs of a challenge and their audits, by phase, in the order in which they ended."""
    return list(_audited_runs(session, Run.challenge_id == challenge.id))


def audit_single_run(session: Session, run: Run) -> AuditedRun | None:
    """Return the audit of a run, or None if the run is not over or has no result."""
    return next(_audited_runs(session, Run.id == run.id), None)


def audit_sheet(site: Site, name: str) -> Sheet:
    """Return the audit of a challenge as a table.

    Raises:
        InvalidInput: the challenge does not exist.
    """
    with site.database.reading() as session:
        audited = audit_challenge(session, existing_challenge(site, name))
    measure = audited[0].measure if audited else "score"
    head = (
        "phase",
        "team",
        "run",
        measure,
        "IoU",
        "blind, mean",
        "blind, 95th percentile",
        "blind, highest",
        "prompts",
        "knowledge",
        "p",
        "equal masks, %",
        "of",
        "most similar run",
        "findings",
    )
    return Sheet(
        name="audit",
        caption=f"Runs of {name}",
        head=head,
        rows=tuple(map(_sheet_row, audited)),
        notes=(BLIND_IOU_NOTE, KNOWLEDGE_NOTE) if audited else ("No run is over yet.",),
    )


def _audited_runs(session: Session, condition: ColumnElement[bool]) -> Iterator[AuditedRun]:
    joined = (
        select(Run, Team.name, RunFinding)
        .join(Team, Team.id == Run.team_id)
        .join(RunFinding, RunFinding.run_id == Run.id, isouter=True)
        .where(condition, Run.state == "over", Run.extract != "")
        .order_by(Run.phase, Run.ended_at, Run.id)
        .options(defer(RunFinding.sketch))
    )
    rows = session.execute(joined).all()
    similar_ids = [row.alike_run_id for _, _, row in rows if row and row.alike_run_id]
    similar_runs = _runs_with_teams(session, similar_ids)
    failures = _audit_failures(session, [run.id for run, _, _ in rows])
    knowledge_p = corrected_knowledge(
        session, {(run.challenge_id, run.phase) for run, _, _ in rows}
    )
    for run, team, finding in rows:
        extract = read_extract(run.extract)
        yield AuditedRun(
            run=run,
            team=team,
            measure=extract.decides,
            score=ladder_score(extract),
            iou=_last_iou(extract),
            finding=finding,
            knowledge_p=knowledge_p.get(run.id),
            alike=similar_runs.get(finding.alike_run_id or "") if finding else None,
            failure=failures.get(run.id, ""),
            failed=sum(extract.failures.values()),
            unloaded=extract.unloaded,
            left=extract.samples - extract.done,
        )


def corrected_knowledge(session: Session, phases: Collection[tuple[int, str]]) -> dict[str, float]:
    """Return the knowledge test's p-value of each run, corrected for the number of audited runs in its phase."""
    corrected: dict[str, float] = {}
    for challenge_id, phase in phases:
        tested = session.execute(
            select(Run.id, RunFinding.knowledge_p)
            .join(RunFinding, RunFinding.run_id == Run.id)
            .where(Run.challenge_id == challenge_id, Run.phase == phase)
            .where(Run.state == "over", RunFinding.knowledge_p.is_not(None))
            .order_by(Run.id)
        ).all()
        uncorrected = {run_id: p for run_id, p in tested if p is not None}
        p_values = correct_over_runs(list(uncorrected.values()))
        corrected.update(zip(uncorrected, p_values, strict=True))
    return corrected


def _runs_with_teams(session: Session, run_ids: Sequence[str]) -> dict[str, tuple[Run, str]]:
    joined = select(Run, Team.name).join(Team, Team.id == Run.team_id).where(Run.id.in_(run_ids))
    return {run.id: (run, team) for run, team in session.execute(joined)}


def _audit_failures(session: Session, run_ids: Sequence[str]) -> dict[str, str]:
    dead = select(Job.about, Job.failure).where(
        Job.kind == AUDIT_RUN, Job.state == "dead", Job.about.in_(run_ids)
    )
    return {row[0]: row[1] for row in session.execute(dead)}


def _last_iou(extract: Extract) -> float | None:
    last: list[float] = []
    for curves in extract.curves.values():
        curve = curves.get("iou")
        if curve is not None and curve.mean and curve.mean[-1] is not None:
            last.append(curve.mean[-1])
    return max(last, default=None)


def _run_and_team(alike: tuple[Run, str] | None) -> str:
    return f"{alike[0].name} of {alike[1]}" if alike else ""


def _sheet_row(audited: AuditedRun) -> tuple[Cell, ...]:
    finding = audited.finding
    if audited.failure:
        status = f"audit failed: {audited.failure}"
    elif finding is None:
        status = "pending"
    else:
        status = ""
    cells: list[Cell] = [
        audited.run.phase,
        audited.team,
        audited.run.name,
        _value(audited.score),
        _value(audited.iou),
    ]
    if finding is None:
        cells += ["", "", "", "", "", "", "", ""]
    else:
        cells += [
            _value(finding.blind_mean),
            _value(finding.blind_p95),
            _value(finding.blind_highest),
            finding.prompts,
            _value(finding.knowledge_excess),
            _value(audited.knowledge_p),
        ]
        if finding.alike_compared:
            percent = Value(mean=100 * finding.alike_share, decimals=0)
            cells += [percent, finding.alike_compared]
        else:
            cells += ["", ""]
    cells += [_run_and_team(audited.alike), "; ".join(audited.flags) or status]
    return tuple(cells)


def _value(mean: float | None) -> Cell:
    return "" if mean is None else Value(mean=mean, decimals=3)
