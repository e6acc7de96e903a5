"""Selection of people's answers: those that can be compared, their scopes, and their questions."""

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


_IMPORT_FORMATS = {".csv": "csv", ".zip": "study"}
"""Import format of a file that is no collection, by its suffix."""


def open_collection(path: str | Path, dataset: str | None = None) -> Collection:
    """Open a collection; the error for anything else says how to make a collection of it.

    Raises:
        InvalidInput: the path does not exist, or has no table.
    """
    given = Path(path)
    if not given.exists():
        raise InvalidInput(f"--with {given}: there is no such folder or table")
    name = _IMPORT_FORMATS.get(given.suffix.lower())
    if given.is_file() and name:
        raise InvalidInput(
            f"--with {given}: expected a folder of what people gave; this makes one: segarena people import {name} "
            f"{given} -o {given.stem} (segarena people formats says what it needs beside it)"
        )
    if given.is_dir() and not (given / TABLE_FILE).is_file():
        if any(given.rglob("*.png")):
            command = f"segarena people import rasters {given} --masks MASKS -o mine"
            hint = f"strokes in pictures become one by {command}"
        else:
            hint = "what can be imported: segarena people formats"
        raise InvalidInput(
            f"--with {given}: expected {TABLE_FILE} in it, as segarena people import makes; {hint}"
        )
    return Collection.open(given, dataset)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparableAnswers:
    """Answers that can be compared.

    Attributes:
        all: answers in the order of the table.
        left_out: number of answers left out, by reason.
    """

    all: tuple[CollectedPrompt, ...]
    left_out: dict[str, int]


def select_answers(
    collection: Collection, kinds: Iterable[str] = COMPARABLE_KINDS
) -> ComparableAnswers:
    """Select the answers that count and that a simulated user can be asked for."""
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
    """Return why an answer is left out, in words that follow a count; "" when it is selected."""
    if row.kind not in COMPARABLE_KINDS:
        return f"answers by {row.kind}, which is not compared yet,"
    if row.kind not in wanted:
        return f"answers by {row.kind}, which was not asked for,"
    if row.purpose != "main" or row.fate:
        return "answers that do not count, as their study has it,"
    if row.round > 1 and not row.previous_mask:
        return "answers of later rounds, of which the mask before is not known,"
    return ""


def answer_scope(row: PersonPrompt) -> AnswerScope:
    """Return the scope of an answer, for all labels together."""
    return AnswerScope(
        kind=row.kind, is_correction=bool(row.previous_mask), is_positive=row.is_positive
    )


def group_by_scope(rows: Sequence[PersonPrompt], *, fewest: int) -> dict[AnswerScope, list[int]]:
    """Return the indices of the answers in each scope that has enough: all labels together, then each label.

    Where there is one label only, it gets no scope of its own.
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
        if len(by_label) > 1:
            for label, own in by_label.items():
                if len(own) >= fewest:
                    scopes[replace(scope, label=label)] = own
    return scopes


def question_key(row: PersonPrompt) -> str:
    """Return a key that answers to the same question share."""
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
