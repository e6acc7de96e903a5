"""Texts of boards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.reports.boards.board import Board
from segarena.reports.boards.extracts import Extract
from segarena.reports.boards.panels import BoardRank, PanelKey
from segarena.reports.run_statistics import TargetKey
from segarena.reports.wording import (
    EARLY_END_NOTE,
    FAILURES_NOTE,
    bounds_text,
    count_text,
    intervals_text,
    value_text,
)

RANK_RANGE_NOTE = (
    "Below a rank is the range of ranks that the data leave open: behind the runs that are significantly better, ahead "
    "of those that are significantly worse. All pairs of runs on the board are tested together, on the targets that "
    "both finished, so that at most 5 % of boards report any difference that is due to chance: a sign-flip test on "
    "whole {sample}s with equal weights and a step-down procedure on the largest difference (Westfall and Young 1993; "
    "Romano and Wolf 2005). The ranges remain valid for any selection of rows."
)

CONTROLS_NOTE = (
    "Runs in italics are controls. A control that ignores the image is a baseline that other runs must beat: a model "
    "that does not beat it has learnt nothing from the image. It is a thin grey line in charts, has no rank and takes "
    "no part in the tests."
)

SHARED_SAMPLES_NOTE = (
    "These rows cover different {sample}s: each has {own}, any two share {two}, and all of them share {every}. "
    "Differences are tested only on shared {sample}s; means over different {sample}s are not comparable."
)

NO_SHARED_SAMPLES_NOTE = "Rows that share nothing are not compared."

CHOICE_NOTE = (
    "“Best”, “last” and “chosen” show one run of each participant: the best in {measure}, the most recent one, or the "
    "one that the participant chose (by default the most recent). Runs without a rank appear only if the participant "
    "has no other. Controls belong to no participant and are always shown."
)


def leader_text(board: Board, key: PanelKey, rows: Sequence[BoardRank]) -> str:
    """Return a sentence on the leading run and the number of runs that it beats significantly."""
    if not rows:
        return ""
    ranked = [row for row in rows if row.place]
    first, *others = ranked or rows
    name = board.names[first.entry]
    statistic = statistic_of(board, key)
    panel = board.panels[key]
    value = value_text(statistic, first.mean.mean)
    bounds = bounds_text(statistic, first.mean.low, first.mean.high)
    found = f"{value} {bounds}" if value and bounds else value or bounds
    if not others:
        return f"{name}: {key.statistic} {found}."
    level = f"{name} is first in {key.statistic} with {found}"
    own_row = panel.ahead[panel.entries.index(first.entry)]
    unclear = 0
    for other in others:
        unclear += not own_row[panel.entries.index(other.entry)]
    if not unclear:
        rest = "the other" if len(others) == 1 else f"all {len(others)} others"
        return f"{level}, ahead of {rest}."
    unclear_text = "one other" if unclear == 1 else f"{unclear} others"
    # board.js builds the same sentence for another selection of rows.
    return f"{level}; {unclear_text} of {len(others)} cannot be told apart from it."


def size_text(board: Board) -> str:
    """Return the numbers of runs, participants and targets, and the date of the last run."""
    entries = board.entries
    _, target, sample = entries[0].extract.words
    datasets: list[str] = []
    for name in dict.fromkeys(board.data):
        targets = _targets_on(board, name)
        samples = {key[0] for key in targets}
        target_count = count_text(len(targets), target)
        sample_count = count_text(len(samples), sample)
        datasets.append(f"{target_count} in {sample_count} of {name}")
    runs = count_text(len(entries), "run")
    participants = {name for name in board.participants if name}
    if participants:
        runs += f" by {count_text(len(participants), 'participant')}"
    last = max(entry.time for entry in entries)
    # Year 1 stands for an unknown time; see `time_of`.
    until = "" if last.year == 1 else f", the last one on {last:%Y-%m-%d}"
    return f"{runs} on {'; '.join(datasets)}{until}"


def _targets_on(board: Board, data: str) -> set[TargetKey]:
    """Return the targets of all entries on some data."""
    targets: set[TargetKey] = set()
    for entry, own_data in zip(board.entries, board.data, strict=True):
        if own_data == data:
            columns = entry.extract.targets
            targets.update(zip(columns.sample, columns.target, strict=True))
    return targets


def shared_text(board: Board, key: PanelKey, rows: Sequence[BoardRank]) -> str:
    """Return a note on how many samples the rows share; empty if all rows have the same samples."""
    entries = [row.entry for row in rows]
    has = board.samples[key.data, key.user][entries]
    if len(rows) < 2 or bool((has == has[0]).all()):
        return ""
    own = has.sum(axis=1)
    shared_by_pair = has.astype(np.int64) @ has.T
    # Each pair once, without the diagonal.
    between = shared_by_pair[np.triu_indices(len(rows), 1)]
    shared_by_all = int(has.all(axis=0).sum())
    note = SHARED_SAMPLES_NOTE.format(
        own=_from_to(own),
        sample=board.entries[0].extract.words[2],
        every=shared_by_all,
        two=_from_to(between),
    )
    if (between == 0).any():
        return f"{note} {NO_SHARED_SAMPLES_NOTE}"
    return note


def _from_to(counts: NDArray[Any]) -> str:
    low = int(counts.min())
    high = int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"


def range_text(row: BoardRank) -> str:
    """Return the range of possible ranks, "3" or "2 to 5"; empty for a row without a rank."""
    if not row.place:
        return ""
    return f"{row.first}" if row.first == row.last else f"{row.first} to {row.last}"


def run_remarks(board: Board, number: int, *, with_participant: bool = True) -> str:
    """Return the text below the name of a run: its participant and its peculiarities."""
    extract = board.entries[number].extract
    participant = board.participants[number]
    remarks: list[str] = []
    if with_participant and participant and participant != board.names[number]:
        remarks.append(participant)
    if extract.ignores_image:
        remarks.append("looks at no image")
    elif extract.segmenter.sees_truth:
        remarks.append("sees the truth")
    if extract.done < extract.samples:
        remarks.append(f"partial: {extract.done} of {extract.samples}")
    unranked = board.unranked.get(number)
    if unranked:
        remarks.append(f"no place: {unranked}")
    return ", ".join(remarks)


def board_notes(board: Board) -> list[str]:
    """Return the definitions of the numbers on a board."""
    extract = board.entries[0].extract
    _, target, sample = extract.words
    notes = [extract.definitions[statistic.name] for statistic in board.statistics]
    notes.append(intervals_text(sample, target))
    notes.append(RANK_RANGE_NOTE.format(sample=sample))
    notes.append(CHOICE_NOTE.format(measure=board.measure.name))
    if any(_is_control(entry.extract) for entry in board.entries):
        notes.append(CONTROLS_NOTE)
    return [*notes, EARLY_END_NOTE, FAILURES_NOTE]


def _is_control(extract: Extract) -> bool:
    return extract.ignores_image or extract.segmenter.sees_truth


def statistic_of(board: Board, key: PanelKey) -> Statistic:
    """Return the statistic of a panel.

    Raises:
        StopIteration: the board has no such statistic.
    """
    return next(one for one in board.statistics if one.name == key.statistic)
