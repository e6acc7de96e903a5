"""Selection of people's comparable answers, and their grouping by scope and by question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from segarena.errors import InvalidInput
from segarena_people.collection import TABLE_FILE, CollectedPrompt, Collection
from segarena_people.comparison.results import AnswerScope
from segarena_people.prompts import PersonPrompt

COMPARABLE_KINDS = ("scribble", "box", "click")
"""Prompt kinds that can be compared."""


# Likely import format of a file that is not a collection, by file suffix.
_IMPORT_FORMATS = {".csv": "csv", ".zip": "study"}


def open_collection(path: str | Path, dataset: str | None = None) -> Collection:
    """Open a collection; if the path is one that can be imported, the error message says how.

    Raises:
        InvalidInput: the path does not exist, or contains no prompt table.
    """
    given = Path(path)
    if not given.exists():
        raise InvalidInput(f"--with {given}: no such folder or table")
    name = _IMPORT_FORMATS.get(given.suffix.lower())
    if given.is_file() and name:
        raise InvalidInput(
            f"--with {given}: expected a collection; create one with: segarena people import {name} "
            f"{given} -o {given.stem} (segarena people formats lists its other inputs)"
        )
    if given.is_dir() and not (given / TABLE_FILE).is_file():
        if any(given.rglob("*.png")):
            command = f"segarena people import rasters {given} --masks MASKS -o mine"
            hint = f"to import strokes drawn as images: {command}"
        else:
            hint = "segarena people formats lists what can be imported"
        raise InvalidInput(
            f"--with {given}: expected a collection that contains {TABLE_FILE}, as written by "
            f"segarena people import; {hint}"
        )
    return Collection.open(given, dataset)


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class ComparableAnswers:
    """People's answers that a simulated user can be compared with.

    Attributes:
        all: answers in the order of the table.
        left_out: number of excluded answers by reason.
    """

    all: tuple[CollectedPrompt, ...]
    left_out: dict[str, int]


def select_answers(
    collection: Collection, kinds: Iterable[str] = COMPARABLE_KINDS
) -> ComparableAnswers:
    """Select the answers that count and whose questions a simulated user can answer."""
    wanted = set(kinds)
    kept: list[CollectedPrompt] = []
    reasons: Counter[str] = Counter()
    for given in collection:
        reason = _exclusion_reason(given.row, wanted)
        if reason:
            reasons[reason] += 1
        else:
            kept.append(given)
    return ComparableAnswers(all=tuple(kept), left_out=dict(reasons))


def _exclusion_reason(row: PersonPrompt, wanted: set[str]) -> str:
    """Return why an answer is excluded, as text to be placed after a number; "" if it is included."""
    if row.kind not in COMPARABLE_KINDS:
        return f"answers of the kind {row.kind}, which cannot be compared,"
    if row.kind not in wanted:
        return f"answers of the kind {row.kind}, which was not selected,"
    if row.purpose != "main" or row.fate:
        return "answers that their study excluded"
    # A simulated user needs the mask that it is to correct.
    if row.round > 1 and not row.previous_mask:
        return "answers of later rounds whose previous mask is unknown"
    return ""


def answer_scope(row: PersonPrompt) -> AnswerScope:
    """Return the scope of an answer, without regard to its label."""
    return AnswerScope(
        kind=row.kind,
        is_correction=bool(row.previous_mask),
        is_positive=row.is_positive,
    )


def group_by_scope(rows: Sequence[PersonPrompt], *, fewest: int) -> dict[AnswerScope, list[int]]:
    """Return answer indices for each scope with enough answers: all labels together, then each label.

    If there is only one label, it gets no separate scope.
    """
    indices_of: dict[AnswerScope, list[int]] = {}
    for index, row in enumerate(rows):
        indices_of.setdefault(answer_scope(row), []).append(index)
    scopes: dict[AnswerScope, list[int]] = {}
    for scope, indices in indices_of.items():
        if len(indices) < fewest:
            continue
        scopes[scope] = indices
        by_label: dict[str, list[int]] = {}
        for index in indices:
            if rows[index].label:
                by_label.setdefault(rows[index].label, []).append(index)
        # A scope for the only label would repeat the scope of all labels.
        if len(by_label) > 1:
            for label, own in by_label.items():
                if len(own) >= fewest:
                    scopes[replace(scope, label=label)] = own
    return scopes


def question_key(row: PersonPrompt) -> str:
    """Return a key that is equal for all answers to the same question."""
    question = (
        row.dataset,
        row.sample,
        row.target,
        row.object_id,
        row.plane,
        row.goal,
        row.goal_mask,
        row.previous_mask,
    )
    return "\t".join(map(str, question))
