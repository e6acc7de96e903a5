"""What people answered: what of it counts, what of it may be taken together, and what is to the same question."""

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
"""Kinds of prompts that can be compared."""


_FORMATS = {".csv": "csv", ".zip": "study"}
"""What a file that is no collection is imported as, by its ending."""


def open_collection(path: str | Path, dataset: str | None = None) -> Collection:
    """Return what people gave; of what is something else say how to make a collection of it.

    Raises:
        InvalidInput: there is nothing, or no table.
    """
    given = Path(path)
    if not given.exists():
        raise InvalidInput(f"--with {given}: there is no such folder or table")
    name = _FORMATS.get(given.suffix.lower())
    if given.is_file() and name:
        raise InvalidInput(
            f"--with {given}: expected a folder of what people gave; this makes one: segarena people import {name} "
            f"{given} -o {given.stem} (segarena people formats says what it needs beside it)"
        )
    if given.is_dir() and not (given / TABLE_FILE).is_file():
        pictures = any(given.rglob("*.png"))
        if pictures:
            hint = f"segarena people import rasters {given} --masks MASKS -o mine"
        else:
            hint = "segarena people formats"
        raise InvalidInput(
            f"--with {given}: expected {TABLE_FILE} in it, as segarena people import makes; "
            f"{'strokes in pictures become one by' if pictures else 'what can be imported:'} {hint}"
        )
    return Collection.open(given, dataset)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComparableAnswers:
    """What people answered, as far as it can be compared.

    Attributes:
        all: in the order of the table.
        left_out: how many were left out, by what they are.
    """

    all: tuple[CollectedPrompt, ...]
    left_out: dict[str, int]


def select_answers(
    collection: Collection, kinds: Iterable[str] = COMPARABLE_KINDS
) -> ComparableAnswers:
    """Return the answers that count and that a user can be asked for."""
    wanted = set(kinds)
    kept: list[CollectedPrompt] = []
    reasons: Counter[str] = Counter()
    for given in collection:
        reason = _reason(given.row, wanted)
        if reason:
            reasons[reason] += 1
        else:
            kept.append(given)
    return ComparableAnswers(all=tuple(kept), left_out=dict(reasons))


def _reason(row: PersonPrompt, wanted: set[str]) -> str:
    """Return what an answer is that is left out, after how many there are; "" when it is not."""
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
    """Return what an answer may be compared with, whatever its object is called."""
    return AnswerScope(
        kind=row.kind, is_correction=bool(row.previous_mask), is_positive=row.is_positive
    )


def group_by_scope(rows: Sequence[PersonPrompt], *, fewest: int) -> dict[AnswerScope, list[int]]:
    """Return the places of the answers of each scope that has enough of them: all labels together, then each.

    A scope with one label only is not given twice.
    """
    found: dict[AnswerScope, list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault(answer_scope(row), []).append(place)
    scopes: dict[AnswerScope, list[int]] = {}
    for scope, places in found.items():
        if len(places) < fewest:
            continue
        scopes[scope] = places
        labels = dict.fromkeys(rows[place].label for place in places)
        each = {
            label: [place for place in places if rows[place].label == label]
            for label in labels
            if label
        }
        if len(each) > 1:
            scopes.update(
                {
                    replace(scope, label=name): own
                    for name, own in each.items()
                    if len(own) >= fewest
                }
            )
    return scopes


def question_key(row: PersonPrompt) -> str:
    """Return what answers to the same question have in common."""
    about = (
        row.dataset,
        row.sample,
        row.target,
        row.object_id,
        row.plane,
        row.goal,
        row.goal_mask,
        row.previous_mask,
    )
    return "\t".join(map(str, about))
