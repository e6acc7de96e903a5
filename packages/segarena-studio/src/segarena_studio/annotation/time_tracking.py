"""Time tracking: time spent on each region, and annotation time from the activity log.

Annotation time is the sum of all gaps shorter than five seconds between consecutive log entries, as
in the tool of Zhu et al. (Semantic Amodal Segmentation); longer gaps count as pauses. Active time is
time with the window in the foreground.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

import msgspec

from segarena_studio.orm_models import Task

# As in the tool of Zhu et al., so that times are comparable with the published ones.
PAUSE_MS = 5000.0
_MOST_REGIONS = 20_000
# Times of regions beyond `_MOST_REGIONS` are summed under this name.
_OTHERS = "others"


class LogEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One action: time in milliseconds since 1970 by the annotator's clock, kind, and region."""

    at_ms: Annotated[float, msgspec.Meta(ge=0, le=1e14)]
    kind: Annotated[str, msgspec.Meta(max_length=40)]
    region: Annotated[str, msgspec.Meta(max_length=40)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionTime:
    """Time spent on a region, in seconds."""

    total_s: float
    active_s: float


def add_times(
    task: Task,
    log: Iterable[LogEntry],
    time_ms: Mapping[str, float],
    active_ms: Mapping[str, float],
) -> None:
    """Add the times since the last draft to a task."""
    moments = [entry.at_ms for entry in log]
    gap_ms, task.logged_ms = sum_short_gaps(moments, task.logged_ms)
    task.annotation_ms += gap_ms
    task.total_ms += sum(time_ms.values())
    task.active_ms += sum(active_ms.values())
    if time_ms or active_ms:
        spent: dict[str, list[float]] = json.loads(task.spent)
        for column, times in enumerate((time_ms, active_ms)):
            for region, value in times.items():
                name = region[:40]
                # Limit the number of regions, because region ids come from the browser.
                if name not in spent and len(spent) >= _MOST_REGIONS:
                    name = _OTHERS
                spent.setdefault(name, [0.0, 0.0])[column] += value
        task.spent = json.dumps(spent, separators=(",", ":"))


def sum_short_gaps(
    moments: Iterable[float], before: float | None = None
) -> tuple[float, float | None]:
    """Return the sum of gaps shorter than five seconds between timestamps, and the newest timestamp.

    Args:
        moments: timestamps in milliseconds, in any order; those before `before` add nothing.
        before: the newest timestamp known so far.
    """
    total = 0.0
    for moment in sorted(moments):
        if before is not None and moment > before:
            gap = moment - before
            if gap < PAUSE_MS:
                total += gap
        before = moment if before is None else max(before, moment)
    return total, before


def read_region_times(spent: str) -> dict[str, RegionTime]:
    """Return the time spent on each region that ever existed in a task, from its JSON in the database."""
    times_ms: dict[str, list[float]] = json.loads(spent)
    times: dict[str, RegionTime] = {}
    for region, (total_ms, active_ms) in times_ms.items():
        times[region] = RegionTime(total_s=total_ms / 1000, active_s=active_ms / 1000)
    return times
