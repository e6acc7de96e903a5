"""The integrity audit, which an organiser reads before anybody wins: leaked information and near-duplicate runs.

A job audits each run when it ends (`segarena_server.jobs.run_audit`); here pages and the command line read the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from segarena.reports.boards.extracts import Extract, read_extract
from segarena.reports.cells import Cell, Value
from segarena.reports.sheets import Sheet
from segarena_server.challenges.challenge_management import existing_challenge
from segarena_server.challenges.duplicate_detection import Similarity
from segarena_server.challenges.ladder import ladder_score
from segarena_server.db.orm_models import Challenge, Job, Run, RunFinding, Team
from segarena_server.jobs.job_queue import AUDIT_RUN
from segarena_server.site import Site

BLIND_IOU_NOTE = (
    "Blind: the IoU of the mask that all prompts of a team suggest to whoever never looks at the sample, each pixel "
    "with the nearest prompt; of videos in the best frame. A score that is not above it owes nothing to the picture."
)

_BLIND_MARGIN = 0.02
"""A run is flagged if its IoU exceeds the blind IoU by less than this.

A run that submits the blind mask differs from it by rounding.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedRun:
    """A finished run and the results of its audit.

    Attributes:
        run: its row.
        team: name of the team.
        measure: the statistic by which the board ranks.
        score: its mean over targets and users; None where there is none.
        iou: after the last round, of the user with the highest mean; None where the benchmark does not measure it.
        finding: None until the audit is done.
        alike: the most similar run of another team, and that team; None where there is none.
        failure: why the audit failed.
        failed: the number of failed dialogues.
        left: the number of samples that were not begun.
    """

    run: Run
    team: str
    measure: str
    score: float | None
    iou: float | None
    finding: RunFinding | None
    alike: tuple[Run, str] | None
    failure: str
    failed: int
    left: int

    @property
    def flags(self) -> list[str]:
        """Findings that the organiser should look at, one line each."""
        flags: list[str] = []
        finding = self.finding
        if finding is not None and self.alike is not None:
            similarity = Similarity(share=finding.alike_share, compared=finding.alike_compared)
            if similarity.is_near:
                flags.append(f"looks like {_run_and_team(self.alike)}")
        blind = finding.blind_mean if finding else None
        if self.iou is not None and blind is not None and self.iou <= blind + _BLIND_MARGIN:
            flags.append("no better than its prompts")
        if self.failed > 0:
            flags.append(f"{self.failed} dialogues failed, which no mean counts")
        if self.left > 0:
            flags.append(f"{self.left} samples were not begun")
        return flags


def audit_challenge(session: Session, challenge: Challenge) -> list[AuditedRun]:
    """Return the finished runs of a challenge by phase, in the order in which they ended."""
    return list(_audited_runs(session, Run.challenge_id == challenge.id))


def audit_single_run(session: Session, run: Run) -> AuditedRun | None:
    """Return the audit of a run; None when it is not over, or has no result."""
    return next(_audited_runs(session, Run.id == run.id), None)


def audit_sheet(site: Site, name: str) -> Sheet:
    """Return the audit of a challenge as a table.

    Raises:
        InvalidInput: the challenge is unknown.
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
        "blind, highest",
        "prompts",
        "equal masks, %",
        "of",
        "and whose",
        "look at",
    )
    return Sheet(
        name="audit",
        caption=f"Runs of {name}",
        head=head,
        rows=tuple(map(_sheet_row, audited)),
        notes=(BLIND_IOU_NOTE,) if audited else ("No run is over yet.",),
    )


def _audited_runs(session: Session, condition: ColumnElement[bool]) -> Iterator[AuditedRun]:
    joined = (
        select(Run, Team.name, RunFinding)
        .join(Team, Team.id == Run.team_id)
        .join(RunFinding, RunFinding.run_id == Run.id, isouter=True)
        .where(condition, Run.state == "over", Run.extract != "")
        .order_by(Run.phase, Run.ended_at, Run.id)
    )
    rows = session.execute(joined).all()
    similar_ids = [row.alike_run_id for _, _, row in rows if row and row.alike_run_id]
    similar_runs = _runs_with_teams(session, similar_ids)
    failures = _audit_failures(session, [run.id for run, _, _ in rows])
    for run, team, finding in rows:
        extract = read_extract(run.extract)
        yield AuditedRun(
            run=run,
            team=team,
            measure=extract.decides,
            score=ladder_score(extract),
            iou=_last_iou(extract),
            finding=finding,
            alike=similar_runs.get(finding.alike_run_id or "") if finding else None,
            failure=failures.get(run.id, ""),
            failed=sum(extract.failures.values()),
            left=extract.samples - extract.done,
        )


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
        status = "to come"
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
        cells += ["", "", "", "", ""]
    else:
        cells += [
            _value(finding.blind_mean),
            _value(finding.blind_highest),
            finding.prompts,
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
