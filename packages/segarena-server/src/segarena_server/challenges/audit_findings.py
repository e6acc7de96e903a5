"""What was found about a run that is over, kept for whoever organises: see `segarena_server.challenges.integrity_audit`."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from segarena_server.challenges.duplicate_detection import Similarity
from segarena_server.challenges.leak_meter import Leak
from segarena_server.db.orm_models import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAudit:
    """What a job found about a run.

    Attributes:
        leaks: what the prompts of its team give away of each target; none in a practice.
        sketch: of its masks; see `segarena_server.challenges.duplicate_detection`.
        alike: the run of another team that it looks like most, with how alike they are; None when there is none.
    """

    leaks: tuple[Leak, ...]
    sketch: bytes
    alike: tuple[str, Similarity] | None


def save_audit(session: Session, run_id: str, now: float, found: RunAudit) -> None:
    """Write what was found about a run, in place of what was found before."""
    peaks = [leak.peak for leak in found.leaks]
    alike_run, likeness = found.alike or (None, Similarity(share=0.0, compared=0))
    row = session.get(Finding, run_id)
    if row is None:
        row = Finding(run_id=run_id)
        session.add(row)
    row.made_at = now
    row.targets = len(peaks)
    row.prompts = sum(leak.prompts for leak in found.leaks)
    row.blind_mean = sum(peaks) / len(peaks) if peaks else None
    row.blind_highest = max(peaks, default=None)
    row.alike_run_id = alike_run
    row.alike_share = likeness.share
    row.alike_compared = likeness.compared
    row.sketch = found.sketch
