"""Texts of boards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.reports.boards.board import Board
from segarena.reports.boards.extracts import Extract
from segarena.reports.boards.statistic_rankings import BoardRank, PanelKey
from segarena.reports.display_names import metric_name
from segarena.reports.failures_and_final_quality import (
    Companions,
    best_elsewhere_text,
    companions_of,
    threshold_text,
)
from segarena.reports.run_statistics import TargetKey
from segarena.reports.wording import (
    EARLY_END_NOTE,
    FAILURES_NOTE,
    bounds_text,
    count_text,
    enumeration,
    intervals_text,
    rough_text,
    sentences_text,
    value_text,
    with_remark,
)

RANK_DEFINITION = "rank by the mean; below it, the ranks that are possible if all pairs of runs are tested together."

RANK_RANGE_NOTE = (
    "Below a rank is the range of possible ranks: below all runs that are significantly better, above all "
    "that are significantly worse. All pairs of runs on the board are tested together, on the targets that "
    "both finished, so that at most 5 % of boards report any difference that is due to chance: a sign-flip test on "
    "whole {sample}s with equal weights and a step-down procedure on the largest difference (Westfall and Young 1993; "
    "Romano and Wolf 2005). The ranges remain valid for any selection of rows. The table of paired differences in a "
    "report weights each target equally instead, so that its p may differ."
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

ISOLATION_NOTE = (
    "“Isolated” marks a run whose segmenter was in a sandbox: it received images and prompts, and could read neither "
    "the ground truth nor the files of the dataset. In a challenge, the program also ran on the organiser's machine, "
    "without a network, and kept nothing from earlier runs. “Separate process” marks a run whose segmenter did not "
    "receive the ground truth, but could read the files of the dataset. Runs without a mark were not isolated: the "
    "segmenter could have had access to the ground truth or, in a challenge, ran on the participant's machine."
)

NO_ISOLATION_NOTE = (
    "No run on this board was isolated in a sandbox: segmenters could have had access to the ground truth or, in a "
    "challenge, ran on the machines of the participants."
)

_ISOLATION_MARKS = {"sandbox": "isolated", "process": "separate process"}

CHOICE_NOTE = (
    "“Best”, “last” and “chosen” show one run of each participant: the best in {measure}, the most recent one, or the "
    "one that the participant chose (by default the most recent). Runs without a rank appear only if the participant "
    "has no other. Controls belong to no participant and are always shown."
)


def leader_text(
    board: Board,
    key: PanelKey,
    rows: Sequence[BoardRank],
) -> str:
    """Describe the leading run in short sentences: its results, and the runs that it beats significantly."""
    if not rows:
        return ""
    # Unranked rows come last; if no row is ranked, the text is about all rows.
    count = sum(row.place > 0 for row in rows) or len(rows)
    ranked = rows[:count]
    first, *others = ranked
    name = board.names[first.entry]
    statistic = board.statistic_of(key)
    panel = board.panels[key]
    value = value_text(statistic, first.mean.mean)
    bounds = bounds_text(statistic, first.mean.low, first.mean.high)
    found = " ".join(filter(None, (value, bounds)))
    if all(_failed_share(board, key, row) == 1 for row in ranked):
        return _unreached_text(board, key, ranked)
    reached = _reached_text(board, key, first)
    if reached:
        found = f"{found} ({reached})"
    rough = _rough_text(board, key, first)
    if not others:
        return sentences_text(with_remark(f"{name}: {key.statistic} {found}", rough))
    lead = with_remark(f"{name} is first in {key.statistic} with {found}", rough)
    is_beaten = dict(zip(panel.entries, panel.ahead[panel.entries.index(first.entry)], strict=True))
    beaten: list[str] = []
    unclear: list[str] = []
    for other in others:
        other_value = value_text(statistic, other.mean.mean)
        group = beaten if is_beaten[other.entry] else unclear
        group.append(f"{board.names[other.entry]} ({other_value})")
    ahead = f"significantly ahead of {enumeration(beaten)}" if beaten else ""
    behind = f"not significantly ahead of {enumeration(unclear)}" if unclear else ""
    gaps = f"It is {', but '.join(filter(None, (ahead, behind)))}"
    return sentences_text(lead, gaps, _disagreement(board, key, ranked))


def _failed_share(
    board: Board,
    key: PanelKey,
    row: BoardRank,
) -> float:
    """Return the share of targets that a run did not solve; NaN if the measure is neither NoC nor NoF."""
    failures = _companions(board, key).failures
    return _panel_means(board, key, failures).get(row.entry, math.nan)


def _unreached_text(
    board: Board,
    key: PanelKey,
    rows: Sequence[BoardRank],
) -> str:
    """Return the sentences for runs that solve no target."""
    statistic = board.statistic_of(key)
    extract = board.entries[0].extract
    word, target, _ = extract.words
    goal = threshold_text(statistic, metric_name(statistic.metric))
    options = extract.rules.get("options") or {}
    # By the published rule, a target that is solved only in the last round counts as unsolved.
    until = "before the last of" if options.get("solved_at_last") == "failure" else "within"
    limit = count_text(_rounds(board), word)
    subject = f"{board.names[rows[0].entry]} does not reach"
    if len(rows) > 1:
        subject = "No run reaches"
    text = f"{subject} {goal} {until} {limit} on any {target}"
    final = _companions(board, key).final
    means = _panel_means(board, key, final)
    if final is None or len(rows) < 2:
        return sentences_text(text)
    best_first = sorted(rows, key=lambda row: -means.get(row.entry, -math.inf))
    named: list[str] = []
    for row in best_first:
        value = value_text(final, means.get(row.entry, math.nan))
        named.append(f"{value} for {board.names[row.entry]}")
    return sentences_text(text, f"{final.name} is {enumeration(named)}")


def _reached_text(
    board: Board,
    key: PanelKey,
    row: BoardRank,
) -> str:
    """Describe the share of solved targets and how unsolved ones count; empty unless the measure is NoC or NoF."""
    failures = _companions(board, key).failures
    share = _failed_share(board, key, row)
    if failures is None or math.isnan(share):
        return ""
    target = board.entries[0].extract.words[1]
    if not share:
        return f"all {target}s solved"
    solved = value_text(failures, 1 - share)
    return f"{solved} of {target}s solved, unsolved counted as {_rounds(board)}"


def _rounds(board: Board) -> int:
    return int(board.entries[0].extract.rules.get("rounds") or 0)


def _disagreement(
    board: Board,
    key: PanelKey,
    rows: Sequence[BoardRank],
) -> str:
    """Name the runs with the fewest failures and with the highest final quality, except the leader."""
    companions = _companions(board, key)
    values: list[list[float]] = []
    for statistic in companions.all():
        means = _panel_means(board, key, statistic)
        values.append([means.get(row.entry, math.nan) for row in rows])
    names = [board.names[row.entry] for row in rows]
    text = best_elsewhere_text(companions, names, values)
    return f"However, {text}" if text else ""


def _companions(board: Board, key: PanelKey) -> Companions:
    return companions_of(board.statistic_of(key), board.statistics, _rounds(board))


def _panel_means(
    board: Board,
    key: PanelKey,
    statistic: Statistic | None,
) -> dict[int, float]:
    """Return the means of `statistic` by entry, for the data and user of `key`; empty if unknown."""
    if statistic is None:
        return {}
    panel = board.panels.get(key._replace(statistic=statistic.name))
    if panel is None:
        return {}
    return {entry: interval.mean for entry, interval in panel.mean_by_entry.items()}


def _rough_text(
    board: Board,
    key: PanelKey,
    row: BoardRank,
) -> str:
    if math.isnan(row.mean.low):
        return ""
    samples = int(board.samples[key.data, key.user][row.entry].sum())
    return rough_text(samples, board.entries[0].extract.words[2], "the interval is")


def size_text(board: Board) -> str:
    """Return the number of runs, participants and targets, and the date of the last run."""
    entries = board.entries
    _, target, sample = entries[0].extract.words
    datasets: list[str] = []
    for name in dict.fromkeys(board.data):
        targets = _targets_on(board, name)
        samples, _ = zip(*targets, strict=True)
        target_count = count_text(len(targets), target)
        sample_count = count_text(len(set(samples)), sample)
        datasets.append(f"{target_count} in {sample_count} of {name}")
    runs = count_text(len(entries), "run")
    # A run without a participant, such as a control, has an empty name.
    participants = set(board.participants) - {""}
    if participants:
        runs += f" by {count_text(len(participants), 'participant')}"
    last = max(entry.time for entry in entries)
    day = time_text(last, "%Y-%m-%d")
    until = f", the last one on {day}" if day else ""
    return f"{runs} on {'; '.join(datasets)}{until}"


def time_text(time: datetime, time_format: str) -> str:
    """Format a time; empty if the time is unknown."""
    # Year 1 stands for an unknown time; see `time_of`.
    return "" if time.year == 1 else time.strftime(time_format)


def median_seconds(extract: Extract, user: str) -> float:
    """Return the median seconds per round with `user`; NaN if unknown."""
    seconds = extract.seconds.get(user)
    return math.nan if seconds is None else seconds


def _targets_on(board: Board, data: str) -> set[TargetKey]:
    """Return the targets of all entries on a dataset."""
    targets: set[TargetKey] = set()
    for entry, own_data in zip(board.entries, board.data, strict=True):
        if own_data == data:
            targets.update(entry.extract.targets.keys)
    return targets


def shared_text(
    board: Board,
    key: PanelKey,
    rows: Sequence[BoardRank],
) -> str:
    """Return a note on how many samples the rows share; empty if all rows have the same samples."""
    entries = [row.entry for row in rows]
    has = board.samples[key.data, key.user][entries]
    if len(rows) < 2 or bool((has == has[0]).all()):
        return ""
    own = has.sum(axis=1)
    shared_by_pair = has.astype(np.int64) @ has.T
    # Count each pair once, and leave out the diagonal.
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
    """Format the range of possible ranks, such as "3" or "2 to 5"; empty for an unranked row."""
    if not row.place:
        return ""
    return f"{row.first}" if row.first == row.last else f"{row.first} to {row.last}"


def run_remarks(
    board: Board,
    number: int,
    *,
    with_participant: bool = True,
) -> str:
    """Return the text below the name of a run: its participant and its special properties."""
    extract = board.entries[number].extract
    participant = board.participants[number]
    remarks: list[str] = []
    if with_participant and participant and participant != board.names[number]:
        remarks.append(participant)
    if extract.ignores_image:
        remarks.append("ignores the image")
    elif extract.segmenter.sees_truth:
        remarks.append("sees the ground truth")
    mark = _ISOLATION_MARKS.get(extract.segmenter.isolation)
    if mark:
        remarks.append(mark)
    if extract.done < extract.samples:
        remarks.append(f"partial: {extract.done} of {extract.samples}")
    unranked = board.unranked.get(number)
    if unranked:
        remarks.append(f"no rank: {unranked}")
    return ", ".join(remarks)


def board_notes(board: Board) -> list[str]:
    """Return the notes of a board: the definitions of its statistics, and explanations of the ranking."""
    extract = board.entries[0].extract
    _, target, sample = extract.words
    notes = [extract.definitions[statistic.name] for statistic in board.statistics]
    notes.append(intervals_text(sample, target))
    notes.append(RANK_RANGE_NOTE.format(sample=sample))
    notes.append(CHOICE_NOTE.format(measure=board.measure.name))
    if any(is_control(entry.extract) for entry in board.entries):
        notes.append(CONTROLS_NOTE)
    has_marks = any(entry.extract.segmenter.isolation for entry in board.entries)
    notes.append(ISOLATION_NOTE if has_marks else NO_ISOLATION_NOTE)
    return [*notes, EARLY_END_NOTE, FAILURES_NOTE]


def is_control(extract: Extract) -> bool:
    """Return whether a run is a control, that is, it ignores the image or has access to the ground truth."""
    return extract.ignores_image or extract.segmenter.sees_truth
