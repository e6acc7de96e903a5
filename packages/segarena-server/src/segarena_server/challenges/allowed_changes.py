"""Changes that a running challenge allows: dates, texts, visibility and limits on runs, but not its rules."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.form_fields import form_texts
from segarena_server.challenges.phase_fields import fixed_fields

_CHECKED_APART = ("name", "dataset")
"""Fixed fields with their own checks: phases are matched by name, and datasets are compared as pools."""

_MAX_TEXT = 60
"""Maximum length of a value in the description of a change, in characters."""


def forbidden_changes(
    before: ChallengeDescription,
    after: ChallengeDescription,
    begun: Collection[str],
) -> dict[str, str]:
    """Return the fields whose change is forbidden, each with the reason.

    Args:
        before: the current description.
        after: the new description.
        begun: names of the phases that have runs.
    """
    faults: dict[str, str] = {}
    if after.slug != before.slug:
        faults["slug"] = f"stays {before.slug}, because addresses contain it"
    if begun and after.benchmark != before.benchmark:
        faults["benchmark"] = (
            f"stays {before.benchmark}: there are runs with it; create another challenge"
        )
    places = {phase.name: place for place, phase in enumerate(after.phases)}
    for phase in before.phases:
        if phase.name not in begun:
            continue
        if phase.name not in places:
            faults["phases"] = (
                f"{phase.name} has runs: you can close it, but neither remove nor rename it"
            )
            continue
        place = places[phase.name]
        prefix = f"phases[{place}]."
        changed = after.phases[place]
        for field, reason in _changed_fixed_fields(phase, changed):
            faults[prefix + field] = reason
        if after.pool(changed) != before.pool(phase):
            field = f"{prefix}dataset" if changed.dataset else "dataset"
            faults[field] = (
                f"stays {before.pool(phase)}, because {phase.name} has runs; add a phase instead"
            )
    return faults


def describe_changes(before: ChallengeDescription, after: ChallengeDescription) -> list[str]:
    """Return all changes, one line each, without secret seeds."""
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
    for field in fixed_fields():
        if field in _CHECKED_APART:
            continue
        value: Any = getattr(before, field)
        if getattr(after, field) == value:
            continue
        if field == "seed":
            # The message may be read by several organisers; a seed would let them predict the
            # samples.
            shown = "as it is"
        elif value is None:
            shown = "unset"
        else:
            shown = str(value)
        yield field, f"stays {shown}, because {before.name} has runs; add a phase instead"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    if len(line) > _MAX_TEXT:
        line = f"{line[: _MAX_TEXT - 3]}..."
    return line or "–"
