"""What a board says in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.reports.boards.board import Board
from segarena.reports.boards.panels import BoardRank, PanelKey
from segarena.reports.wording import (
    EARLY_END_NOTE,
    FAILURES_NOTE,
    bounds_text,
    count_text,
    intervals_text,
    value_text,
)
from segarena.roles import Statistic

RANK_RANGE_NOTE = (
    "Below a place stand those that chance leaves open: behind the runs that are better, before those that are worse. "
    "All pairs of runs on the board are tested together on the targets that both finished, so that chance alone names "
    "any difference on 5 % of boards at most: signs of whole {sample}s are flipped, each counting the same, and the "
    "largest difference looked at, step by step (Westfall and Young 1993; Romano and Wolf 2005). The places hold for "
    "whatever rows are shown."
)

CONTROLS_NOTE = (
    "Runs in italics are controls. One that looks at no image is the line that others must beat, thin and grey in "
    "charts, without a place and tested against nobody: a model that does not beat it has learnt nothing from the "
    "picture."
)

SHARED_SAMPLES_NOTE = (
    "These rows are about different {sample}s: each has {own}, any two share {two}, and all of them {every}. A "
    "difference is tested on what two share alone; means over different {sample}s are no comparison."
)

NO_SHARED_SAMPLES_NOTE = "Between rows that share nothing, nothing is said."

CHOICE_NOTE = (
    "Best, last and chosen are one run of each participant: the best in {measure}, the last finished, the one that "
    "they wished to be judged by, or the last where they wished for none; runs without a place only where there is no "
    "other. Controls are nobody's and always shown."
)


def leader_text(board: Board, key: PanelKey, rows: Sequence[BoardRank]) -> str:
    """Return who is first, and of how many others that is more than chance."""
    if not rows:
        return ""
    first, *others = [row for row in rows if row.place] or rows
    statistic = statistic_of(board, key)
    panel = board.panels[key]
    value = value_text(statistic, first.mean.mean)
    bounds = bounds_text(statistic, first.mean.low, first.mean.high)
    found = " ".join(filter(None, [value, bounds]))
    if not others:
        return f"{board.names[first.entry]}: {key.statistic} {found}."
    level = f"{board.names[first.entry]} is first in {key.statistic} with {found}"
    mine = panel.entries.index(first.entry)
    unclear = sum(not panel.ahead[mine, panel.entries.index(other.entry)] for other in others)
    if not unclear:
        return (
            f"{level}, ahead of {'the other' if len(others) == 1 else f'all {len(others)} others'}."
        )
    told = "one other" if unclear == 1 else f"{unclear} others"
    return f"{level}; {told} of {len(others)} cannot be told apart from it."


def size_text(board: Board) -> str:
    """Return how many runs of how many participants there are, on what, and until when."""
    entries, (_, target, sample) = board.entries, board.entries[0].extract.words
    people = {name for name in board.participants if name}
    on: list[str] = []
    for name in dict.fromkeys(board.data):
        of_data = [
            entry.extract.targets
            for entry, data in zip(entries, board.data, strict=True)
            if data == name
        ]
        keys = {
            key for targets in of_data for key in zip(targets.sample, targets.target, strict=True)
        }
        told = f"{count_text(len(keys), target)} in {count_text(len({key[0] for key in keys}), sample)}"
        on.append(f"{told} of {name}")
    last = max(entry.time for entry in entries)
    until = "" if last.year == 1 else f", the last one of {last:%Y-%m-%d}"
    if people:
        runs = f"{count_text(len(entries), 'run')} of {count_text(len(people), 'participant')}"
    else:
        runs = ""
    return f"{runs or count_text(len(entries), 'run')} on {'; '.join(on)}{until}"


def shared_text(board: Board, key: PanelKey, rows: Sequence[BoardRank]) -> str:
    """Return how many samples rows share, where they are about different ones; else nothing."""
    has = board.samples[key.data, key.user][[row.entry for row in rows]]
    if len(rows) < 2 or bool((has == has[0]).all()):
        return ""
    sample = board.entries[0].extract.words[2]
    own = has.sum(axis=1)
    pairs = has.astype(np.int64) @ has.T
    between = pairs[np.triu_indices(len(rows), 1)]
    both = SHARED_SAMPLES_NOTE.format(
        own=_from_to(own), sample=sample, every=int(has.all(axis=0).sum()), two=_from_to(between)
    )
    apart = int((between == 0).sum())
    return f"{both} {NO_SHARED_SAMPLES_NOTE}" if apart else both


def _from_to(counts: NDArray[Any]) -> str:
    low = int(counts.min())
    high = int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"


def range_text(row: BoardRank) -> str:
    """Return the places that are open: "3" or "2 to 5"; nothing for a row without a place."""
    if not row.place:
        return ""
    return f"{row.first}" if row.first == row.last else f"{row.first} to {row.last}"


def run_remarks(board: Board, number: int, *, with_participant: bool = True) -> str:
    """Return what stands below the name of a run: whose it is, and what must be known of it."""
    extract = board.entries[number].extract
    participant = board.participants[number]
    notes = [
        participant if with_participant and participant != board.names[number] else "",
        "looks at no image"
        if extract.ignores_image
        else "sees the truth"
        if extract.segmenter.sees_truth
        else "",
        f"partial: {extract.done} of {extract.samples}" if extract.done < extract.samples else "",
        f"no place: {unranked}" if (unranked := board.unranked.get(number)) else "",
    ]
    return ", ".join(filter(None, notes))


def board_notes(board: Board) -> list[str]:
    """Return what the numbers are."""
    extract = board.entries[0].extract
    _, target, sample = extract.words
    is_control = any(
        e.extract.ignores_image or e.extract.segmenter.sees_truth for e in board.entries
    )
    return [
        *(extract.definitions[statistic.name] for statistic in board.statistics),
        intervals_text(sample, target),
        RANK_RANGE_NOTE.format(sample=sample),
        CHOICE_NOTE.format(measure=board.measure.name),
        *([CONTROLS_NOTE] if is_control else []),
        EARLY_END_NOTE,
        FAILURES_NOTE,
    ]


def statistic_of(board: Board, key: PanelKey) -> Statistic:
    """Return the statistic of a panel."""
    return next(one for one in board.statistics if one.name == key.statistic)
