"""What an organiser looks at before anybody wins: what prompts gave away, and runs that look like one.

It is found once when a run ends (`segarena_server.jobs.run_audit`), and read here for pages and for the command line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from segarena.reports.boards.extracts import Extract, read_extract
from segarena.reports.sheets import Cell, Sheet, Value
from segarena_server.challenges.challenge_management import existing_challenge
from segarena_server.challenges.duplicate_detection import Similarity
from segarena_server.challenges.ladder import ladder_score
from segarena_server.db.orm_models import Challenge, Finding, Job, Run, Team
from segarena_server.jobs.job_queue import AUDIT_RUN
from segarena_server.site import Site

BLIND_IOU_NOTE = (
    "Blind: the IoU of the mask that all prompts of a team suggest to whoever never looks at the sample, each pixel "
    "with the nearest prompt; of videos in the best frame. A score that is not above it owes nothing to the picture."
)

_MARGIN = 0.02
"""A run whose IoU is above the blind one by less is pointed out: one that gives the blind mask differs by rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedRun:
    """A run that is over, with what was found about it.

    Attributes:
        run: its row.
        team: whose it is.
        measure, score: by which the board ranks, and the mean over targets and users; None where there is none.
        iou: after the last round, of the user who gets furthest; None where the benchmark does not measure it.
        finding: None while it is to come.
        alike: the run of another team that it looks like most, and that team; None where it looks like none.
        failure: why nothing could be found.
    """

    run: Run
    team: str
    measure: str
    score: float | None
    iou: float | None
    finding: Finding | None
    alike: tuple[Run, str] | None
    failure: str
    failed: int
    left: int

    @property
    def flags(self) -> list[str]:
        """What somebody should look at, a line each."""
        found = self.finding
        near = (
            found is not None
            and Similarity(share=found.alike_share, compared=found.alike_compared).is_near
        )
        blind = found.blind_mean if found else None
        told = [
            (near and self.alike is not None, f"looks like {_named(self.alike)}"),
            (
                None not in (self.iou, blind) and (self.iou or 0.0) <= (blind or 0.0) + _MARGIN,
                "no better than its prompts",
            ),
            (self.failed > 0, f"{self.failed} dialogues failed, which no mean counts"),
            (self.left > 0, f"{self.left} samples were not begun"),
        ]
        return [text for is_so, text in told if is_so]


def audit_challenge(session: Session, challenge: Challenge) -> list[AuditedRun]:
    """Return the runs of a challenge that are over, phase by phase, in the order in which they ended."""
    return list(_audited(session, Run.challenge_id == challenge.id))


def audit_single_run(session: Session, run: Run) -> AuditedRun | None:
    """Return what was found about a run; None when it is not over, or came to nothing."""
    return next(_audited(session, Run.id == run.id), None)


def audit_sheet(site: Site, name: str) -> Sheet:
    """Return the audit of a challenge as a table.

    Raises:
        InvalidInput: there is no such challenge.
    """
    with site.database.reading() as session:
        found = audit_challenge(session, existing_challenge(site, name))
    measure = next((one.measure for one in found), "score")
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
    )
    return Sheet(
        name="audit",
        caption=f"Runs of {name}",
        head=(*head, "and whose", "look at"),
        rows=tuple(map(_row, found)),
        notes=(BLIND_IOU_NOTE,) if found else ("No run is over yet.",),
    )


def _audited(session: Session, condition: ColumnElement[bool]) -> Iterator[AuditedRun]:
    ended = select(Run, Team.name, Finding).join(Team, Team.id == Run.team_id)
    ended = ended.join(Finding, Finding.run_id == Run.id, isouter=True)
    rows = session.execute(
        ended.where(condition, Run.state == "over", Run.extract != "").order_by(
            Run.phase, Run.ended_at, Run.id
        )
    ).all()
    alike = _teams_of(session, [row.alike_run_id for _, _, row in rows if row and row.alike_run_id])
    failures = _failures(session, [run.id for run, _, _ in rows])
    for run, team, finding in rows:
        extract = read_extract(run.extract)
        yield AuditedRun(
            run=run,
            team=team,
            measure=extract.decides,
            score=ladder_score(extract),
            iou=_last_iou(extract),
            finding=finding,
            alike=alike.get(finding.alike_run_id or "") if finding else None,
            failure=failures.get(run.id, ""),
            failed=sum(extract.failures.values()),
            left=extract.samples - extract.done,
        )


def _teams_of(session: Session, run_ids: Sequence[str]) -> dict[str, tuple[Run, str]]:
    told = select(Run, Team.name).join(Team, Team.id == Run.team_id).where(Run.id.in_(run_ids))
    return {run.id: (run, team) for run, team in session.execute(told)}


def _failures(session: Session, run_ids: Sequence[str]) -> dict[str, str]:
    dead = select(Job.about, Job.failure).where(
        Job.kind == AUDIT_RUN, Job.state == "dead", Job.about.in_(run_ids)
    )
    return {row[0]: row[1] for row in session.execute(dead)}


def _last_iou(extract: Extract) -> float | None:
    last = [
        curves["iou"].mean[-1]
        for curves in extract.curves.values()
        if "iou" in curves and curves["iou"].mean
    ]
    return max((value for value in last if value is not None), default=None)


def _named(alike: tuple[Run, str] | None) -> str:
    return f"{alike[0].name} of {alike[1]}" if alike else ""


def _row(one: AuditedRun) -> tuple[Cell, ...]:
    found = one.finding
    if found and found.alike_compared:
        share = Value(mean=100 * found.alike_share, decimals=0)
    else:
        share = ""
    if one.failure:
        missing = f"could not be found: {one.failure}"
    else:
        missing = "" if found else "to come"
    return (
        one.run.phase,
        one.team,
        one.run.name,
        _value(one.score),
        _value(one.iou),
        _value(found.blind_mean if found else None),
        _value(found.blind_highest if found else None),
        found.prompts if found else "",
        share,
        found.alike_compared if found and found.alike_compared else "",
        _named(one.alike),
        "; ".join(one.flags) or missing,
    )


def _value(mean: float | None) -> Cell:
    return "" if mean is None else Value(mean=mean, decimals=3)
