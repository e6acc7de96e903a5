"""Changes that a running challenge allows: dates, texts, limits of runs and visibility, but not its rules."""

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
"""Fields of a phase that are fixed once it has a run, since all runs on a board follow the same rules."""

_MAX_TEXT = 60
"""Characters of a value in the description of a change."""


def forbidden_changes(
    before: ChallengeDescription, after: ChallengeDescription, begun: Collection[str]
) -> dict[str, str]:
    """Return the changes that are not allowed (any more), with the reason, by field.

    Args:
        before: the current description.
        after: the new description.
        begun: names of the phases that have runs.
    """
    faults: dict[str, str] = {}
    if after.slug != before.slug:
        faults["slug"] = f"stays {before.slug}: addresses have it"
    if begun and after.benchmark != before.benchmark:
        faults["benchmark"] = (
            f"stays {before.benchmark}: there are runs by it; make another challenge"
        )
    places = {phase.name: place for place, phase in enumerate(after.phases)}
    for phase in before.phases:
        if phase.name not in begun:
            continue
        if phase.name not in places:
            faults["phases"] = (
                f"{phase.name} has runs: it can be closed, and neither left out nor renamed"
            )
            continue
        place = places[phase.name]
        prefix = f"phases[{place}]."
        changed = after.phases[place]
        for field, reason in _changed_fixed_fields(phase, changed):
            faults[prefix + field] = reason
        if after.pool(changed) != before.pool(phase):
            field = f"{prefix}dataset" if changed.dataset else "dataset"
            faults[field] = f"stays {before.pool(phase)}: {phase.name} has runs; add a phase"
    return faults


def describe_changes(before: ChallengeDescription, after: ChallengeDescription) -> list[str]:
    """Return all changes, one line each; secret seeds are left out."""
    old = form_texts(before)
    new = form_texts(after)
    lines: list[str] = []
    for field in {**old, **new}:
        old_text = old.get(field, "")
        new_text = new.get(field, "")
        if old_text != new_text:
            lines.append(f"{field}: {_shortened(old_text)} → {_shortened(new_text)}")
    return lines


def _changed_fixed_fields(before: Phase, after: Phase) -> Iterator[tuple[str, str]]:
    for field in FIXED_FIELDS:
        value: Any = getattr(before, field)
        if getattr(after, field) == value:
            continue
        if field == "seed":
            shown = "as it is"
        elif value is None:
            shown = "unset"
        else:
            shown = str(value)
        yield field, f"stays {shown}: {before.name} has runs; add a phase"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    if len(line) > _MAX_TEXT:
        line = f"{line[: _MAX_TEXT - 3]}..."
    return line or "–"
