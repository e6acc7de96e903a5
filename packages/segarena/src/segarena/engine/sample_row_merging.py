"""Rows of a sample that a run keeps while it is extended with more users, and their merging with the new rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from segarena.engine.rows import Rows
from segarena.records.row_types import RoundKey, RoundRecord, Timing

DialogueName: TypeAlias = tuple[str, str, int]
"""Target, user and repeat of a dialogue."""

_RowOfRound = TypeVar("_RowOfRound", bound=RoundKey | RoundRecord)


@dataclass(frozen=True, slots=True)
class KeptSample:
    """The kept rows of a sample, and the users whose dialogues they record."""

    users: frozenset[str] = frozenset()
    rows: Rows = field(default_factory=Rows)


def merge_rows(
    kept: KeptSample,
    new: Rows,
    order: Sequence[DialogueName],
) -> Rows:
    """Merge kept and new rows of a sample into the rows that a single run with all users would write.

    Args:
        kept: rows of the users that the run had.
        new: rows of the other users.
        order: all dialogues about the sample in the order of a run with all users.
    """
    # The failure of a whole sample has no user, and its other rows cannot be trusted.
    if not kept.users or any(not row.user for row in new.records):
        return new
    earlier = kept.rows
    rows = Rows(
        records=_in_order(kept.users, earlier.records, new.records, order),
        timings=_in_order(kept.users, earlier.timings, new.timings, order),
        masks=_in_order(kept.users, earlier.masks, new.masks, order),
        parts=_in_order(kept.users, earlier.parts, new.parts, order),
    )
    rows.timings[:0] = _encoder_passes(earlier.timings, new.timings)
    recorded = {row.target for row in rows.records}
    for row in new.without_dialogue:
        if row.target not in recorded:
            rows.without_dialogue.append(row)
    return rows


def _in_order(
    users: frozenset[str],
    kept: Iterable[_RowOfRound],
    new: Iterable[_RowOfRound],
    order: Sequence[DialogueName],
) -> list[_RowOfRound]:
    """Return the kept rows of `users` and all new rows, dialogue by dialogue, in the given order of dialogues."""
    by_dialogue: defaultdict[DialogueName, list[_RowOfRound]] = defaultdict(list)
    for row in kept:
        if row.user in users:
            by_dialogue[row.target, row.user, row.repeat].append(row)
    for row in new:
        by_dialogue[row.target, row.user, row.repeat].append(row)
    rows: list[_RowOfRound] = []
    for name in order:
        rows += by_dialogue[name]
    return rows


def _encoder_passes(kept: Iterable[Timing], new: Iterable[Timing]) -> list[Timing]:
    """Return the encoder passes of kept and new rows; a single pass that was repeated has its new time."""
    kept_passes = _passes_by_target(kept)
    new_passes = _passes_by_target(new)
    for target, passes in kept_passes.items():
        # Of several passes, such as those of slices, it is unknown which were repeated.
        if len(passes) == 1 and len(new_passes.get(target, ())) == 1:
            continue
        new_passes[target] = [*passes, *new_passes.get(target, ())]
    return [row for passes in new_passes.values() for row in passes]


def _passes_by_target(timings: Iterable[Timing]) -> dict[str, list[Timing]]:
    """Return encoder passes by encoded support example; the key "" stands for the sample itself."""
    found: dict[str, list[Timing]] = {}
    for row in timings:
        if not row.user:
            found.setdefault(row.target, []).append(row)
    return found
