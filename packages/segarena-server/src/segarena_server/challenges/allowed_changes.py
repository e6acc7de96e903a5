"""What may be changed of a challenge that runs: dates, texts, limits of runs, what is shown; not what judges runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.form_fields import form_texts

FIXED_FIELDS = (
    "kind",
    "takes",
    "samples_per_run",
    "rounds",
    "seconds_per_object",
    "seconds_per_answer",
    "bank_s",
    "seconds_per_run",
    "ladder",
    "seed",
)
"""Fields of a phase that stay once it has a run: runs on one board follow one set of rules."""


def forbidden_changes(
    before: ChallengeDescription, after: ChallengeDescription, begun: Collection[str]
) -> dict[str, str]:
    """Return what may not be changed (any more), with the reason, by field.

    Args:
        before: as it is.
        after: as it is to be.
        begun: names of its phases that have runs.
    """
    faults: dict[str, str] = {}
    if after.slug != before.slug:
        faults["slug"] = f"stays {before.slug}: addresses have it"
    if begun and after.benchmark != before.benchmark:
        faults["benchmark"] = (
            f"stays {before.benchmark}: there are runs by it; make another challenge"
        )
    places = {phase.name: place for place, phase in enumerate(after.phases)}
    for phase in (phase for phase in before.phases if phase.name in begun):
        if phase.name not in places:
            faults["phases"] = (
                f"{phase.name} has runs: it can be closed, and neither left out nor renamed"
            )
            continue
        place = places[phase.name]
        where = f"phases[{place}]."
        faults |= {
            where + field: why for field, why in _judged_otherwise(phase, after.phases[place])
        }
        if after.pool(after.phases[place]) != before.pool(phase):
            faults[f"{where}dataset" if after.phases[place].dataset else "dataset"] = (
                f"stays {before.pool(phase)}: {phase.name} has runs; add a phase"
            )
    return faults


def describe_changes(before: ChallengeDescription, after: ChallengeDescription) -> list[str]:
    """Return what is different, a line each; of seeds nothing is told."""
    old = form_texts(before)
    new = form_texts(after)
    return [
        f"{field}: {_short(old.get(field, ''))} → {_short(new.get(field, ''))}"
        for field in {**old, **new}
        if old.get(field, "") != new.get(field, "")
    ]


def _judged_otherwise(before: Phase, after: Phase) -> Iterator[tuple[str, str]]:
    for field in FIXED_FIELDS:
        was: Any = getattr(before, field)
        if getattr(after, field) != was:
            if field == "seed":
                told = "as it is"
            else:
                told = "unset" if was is None else str(was)
            yield field, f"stays {told}: {before.name} has runs; add a phase"


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return (plain if len(plain) <= 60 else f"{plain[:57]}...") or "–"
