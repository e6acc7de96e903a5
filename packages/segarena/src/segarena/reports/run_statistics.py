"""Statistics of recorded runs as plain numbers: means with intervals, paired differences and timings."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.statistics.intervals import (
    Interval,
    PairedDifference,
    bootstrap_each_mean,
    bootstrap_mean,
    paired_difference,
)
from segarena.statistics.round_statistics import find_statistic, statistic_values


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """Summary of one run with one user.

    Attributes:
        run: index of the run in the report.
        label: name of the run.
        user: name of the user.
        cells: mean over targets with its 95 % interval, by statistic name.
        targets: number of targets with a finished dialogue.
        dialogues: number of finished dialogues.
        failures: number of failed dialogues; a failed sample counts once, and a sample that could
            not be loaded does not count.
    """

    run: int
    label: str
    user: str
    cells: Mapping[str, Interval]
    targets: int
    dialogues: int
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRow:
    """Differences between one run and the first run on its dataset, for one user.

    Attributes:
        run: index of the run in the report.
        label: name of the run.
        baseline: name of the first run on the same dataset.
        user: name of the user.
        cells: difference by statistic name.
        matched: number of targets that both runs finished.
        unmatched: number of targets that only one of them finished.
    """

    run: int
    label: str
    baseline: str
    user: str
    cells: Mapping[str, PairedDifference]
    matched: int
    unmatched: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingRow:
    """Seconds per round of a run with one user, and per encoder pass of the run; NaN without timings."""

    label: str
    user: str
    rounds: int
    median_s: float
    p95_s: float
    encodes: int
    encode_median_s: float


SIGNIFICANCE_LEVEL = 0.05
"""Differences with a p-value of at most this are marked as better or worse."""

_Result = TypeVar("_Result")

TargetKey = tuple[str, str]
"""Sample, target."""


def target_values(
    run: Run,
    user: str,
    statistic: Statistic,
) -> Mapping[TargetKey, float]:
    """Return `statistic` for each target, averaged over repeats, in the order of the run.

    Failed dialogues, and dialogues with an undefined metric value in some round, are excluded.
    """
    keys, values = _values_by_target(run, user, statistic)
    return dict(zip(keys, values.tolist(), strict=True))


def _values_by_target(
    run: Run,
    user: str,
    statistic: Statistic,
) -> tuple[Sequence[TargetKey], NDArray[np.float64]]:
    """Return targets and their values as in `target_values`, cached per run.

    The cache holds arrays, because dictionaries of all statistics of a large run would need most of
    the memory of its report.
    """
    cache_key = ("values", user, _without_label(statistic))
    return _cached(run, cache_key, lambda: _compute_values(run, user, statistic))


def _compute_values(
    run: Run,
    user: str,
    statistic: Statistic,
) -> tuple[Sequence[TargetKey], NDArray[np.float64]]:
    dialogues, curves = _curves(run, user, statistic.metric)
    if not dialogues:
        return (), np.empty(0)
    values = statistic_values(statistic, curves, run.config.benchmark.options)
    cache_key = ("targets", user, statistic.metric)
    targets = _cached(run, cache_key, lambda: _DialogueTargets.of(dialogues))
    if targets.groups is None:
        return targets.keys, values
    values_of_target: list[list[float]] = [[] for _ in targets.keys]
    for index, value in zip(targets.groups, values.tolist(), strict=True):
        values_of_target[index].append(value)
    return targets.keys, np.array([_mean(found) for found in values_of_target])


@dataclass(frozen=True, slots=True)
class _DialogueTargets:
    """The distinct targets of some dialogues, and the target of each dialogue.

    Attributes:
        keys: the distinct targets, in order of first appearance.
        groups: index in `keys` for each dialogue; None if each dialogue has its own target.
    """

    keys: Sequence[TargetKey]
    groups: Sequence[int] | None

    @classmethod
    def of(cls, dialogues: Sequence[DialogueRecord]) -> _DialogueTargets:
        """Group dialogues by target."""
        indices: dict[TargetKey, int] = {}
        groups: list[int] = []
        for dialogue in dialogues:
            key = (dialogue.sample, dialogue.target)
            groups.append(indices.setdefault(key, len(indices)))
        has_repeats = len(indices) < len(groups)
        return cls(tuple(indices), groups if has_repeats else None)


def _group_means(groups: Mapping[TargetKey, Sequence[float]]) -> dict[TargetKey, float]:
    return {key: _mean(values) for key, values in groups.items()}


def _mean(values: Sequence[float]) -> float:
    # `fsum` is exact, so the result does not depend on the order of repeats.
    return math.fsum(values) / len(values)


def _without_label(statistic: Statistic) -> Statistic:
    """Return a cache key for a statistic: only the parts that affect its values."""
    # Names and directions differ between summaries, but do not affect the values.
    return replace(statistic, name="", higher_is_better=True)


def _curves(
    run: Run,
    user: str,
    metric: str,
) -> tuple[Sequence[DialogueRecord], NDArray[np.float64]]:
    return _cached(run, ("curves", user, metric), lambda: run.curves(user, metric))


def mean_over_users(run: Run, statistic: Statistic) -> dict[TargetKey, float]:
    """Return `statistic` for each target, averaged over the users with a finished dialogue."""
    values_of_users = [target_values(run, user, statistic) for user in run.users]
    if len(values_of_users) == 1:
        return dict(values_of_users[0])
    groups: dict[TargetKey, list[float]] = {}
    for values in values_of_users:
        for key, value in values.items():
            groups.setdefault(key, []).append(value)
    return _group_means(groups)


def statistic_mean(
    run: Run,
    user: str,
    statistic: Statistic,
) -> Interval:
    """Return the mean of a statistic over targets as in `mean_over_targets`, cached per run."""
    _compute_means(run, [user], [statistic])
    return run.computed[_mean_key(user, statistic)]


def _compute_means(
    run: Run,
    users: Sequence[str],
    statistics: Sequence[Statistic],
) -> None:
    """Compute in one call all means that are not cached yet, because they share their random draws."""
    samples: dict[Hashable, tuple[NDArray[np.float64], NDArray[np.int64]]] = {}
    for user in users:
        for statistic in statistics:
            key = _mean_key(user, statistic)
            if key not in run.computed:
                keys, values = _values_by_target(run, user, statistic)
                samples[key] = values, _clusters(run, user, statistic.metric, keys)
    intervals = bootstrap_each_mean(list(samples.values()))
    run.computed.update(zip(samples, intervals, strict=True))


def _mean_key(user: str, statistic: Statistic) -> Hashable:
    return (user, _without_label(statistic))


def _clusters(
    run: Run,
    user: str,
    metric: str,
    keys: Sequence[TargetKey],
) -> NDArray[np.int64]:
    # The cache key does not contain the statistic, because all statistics of a metric are defined
    # on the same targets.
    return _cached(run, ("clusters", user, metric), lambda: image_clusters(keys))


def mean_over_targets(values: Mapping[TargetKey, float]) -> Interval:
    """Return the mean with its 95 % bootstrap interval.

    The bootstrap resamples whole images, so that targets of one image stay together.
    """
    return bootstrap_mean(list(values.values()), image_clusters(list(values)))


def image_clusters(keys: Sequence[TargetKey]) -> NDArray[np.int64]:
    """Return the index of each target's image, int64, for resampling by image.

    Images are indexed in order of first appearance, so that intervals do not depend on names.
    """
    numbers: dict[str, int] = {}
    clusters: list[int] = []
    for sample, _ in keys:
        number = numbers.setdefault(sample, len(numbers))
        clusters.append(number)
    return np.array(clusters, dtype=np.int64)


def summary_rows(runs: Sequence[Run]) -> tuple[SummaryRow, ...]:
    """Return one row per user and run, grouped by user."""
    for run in runs:
        _compute_means(run, run.users, run.summary)
    rows: list[SummaryRow] = []
    for index, run, user in _run_users(runs):
        rows.append(_summary_row(index, run, user))
    return tuple(rows)


def paired_rows(runs: Sequence[Run]) -> tuple[PairedRow, ...]:
    """Return the differences between each run and the first run on its dataset, for each user that both have."""
    rows: list[PairedRow] = []
    for position, run, user in _run_users(runs):
        # Each run is itself one of the runs on its dataset, so a first one always exists.
        first = next(other for other in runs if run.is_on_data_of(other))
        if first is not run and user in first.users:
            rows.append(_paired_row(position, run, first, user))
    return tuple(rows)


def timing_rows(runs: Sequence[Run]) -> tuple[TimingRow, ...]:
    """Return one row per user and run, grouped by user."""
    rows: list[TimingRow] = []
    for _, run, user in _run_users(runs):
        rows.append(_timing_row(run, user))
    return tuple(rows)


def _run_users(runs: Sequence[Run]) -> Iterator[tuple[int, Run, str]]:
    """Yield the index of a run, the run, and one of its users, grouped by user."""
    for user in user_names(runs):
        for index, run in enumerate(runs):
            if user in run.users:
                yield index, run, user


def user_names(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the distinct users of all runs in the order of the runs."""
    # A dictionary serves as an ordered set.
    users: dict[str, None] = {}
    for run in runs:
        for user in run.users:
            users[user] = None
    return tuple(users)


def curve_intervals(
    run: Run,
    user: str,
    metric: str,
) -> list[Interval]:
    """Return the mean of `metric` over targets after each round, with its interval.

    A dialogue that ended early repeats its last value.
    """
    statistics: list[Statistic] = []
    for round_ in range(1, run.rounds + 1):
        statistic = Statistic(
            name="",
            kind="at_round",
            metric=metric,
            round=round_,
        )
        statistics.append(statistic)
    _compute_means(run, run.users, statistics)
    return [statistic_mean(run, user, statistic) for statistic in statistics]


def noc_counts(
    run: Run,
    user: str,
    statistic: Statistic,
) -> tuple[NDArray[np.int64], int]:
    """Count the dialogues by their number of clicks (NoC), and those that never reach the threshold.

    Returns:
        The number of dialogues that reached the threshold after 1, 2, ... rounds, shape (rounds,),
        and the number of dialogues that never reached it.
    """
    dialogues, curves = _curves(run, user, statistic.metric)
    counts = np.zeros(run.rounds, dtype=np.int64)
    if not dialogues:
        return counts, 0
    solved = (curves >= statistic.threshold).any(axis=1)
    # Round k is at index k - 1 of the counts.
    needed = statistic_values(statistic, curves)[solved].astype(np.int64)
    counts += np.bincount(needed - 1, minlength=run.rounds)
    return counts, int((~solved).sum())


def summary_metrics(run: Run) -> tuple[str, ...]:
    """Return the distinct metrics of the summary in its order; ("iou",) if it is empty."""
    return tuple(dict.fromkeys(statistic.metric for statistic in run.summary)) or ("iou",)


def summary_thresholds(run: Run, metric: str) -> tuple[float, ...]:
    """Return the thresholds of the summary for `metric` in ascending order."""
    thresholds: set[float] = set()
    for statistic in run.summary:
        if find_statistic(statistic.kind).has_threshold and statistic.metric == metric:
            thresholds.add(statistic.threshold)
    return tuple(sorted(thresholds))


def difference_direction(
    difference: PairedDifference, statistic: Statistic
) -> Literal["better", "worse", "unclear"]:
    """Classify a difference; "unclear" unless the paired test is significant at 5 %."""
    # `not <=` instead of `>`, because a NaN p-value must be unclear too.
    if not difference.p_value <= SIGNIFICANCE_LEVEL:
        return "unclear"
    if (difference.difference > 0) == statistic.higher_is_better:
        return "better"
    return "worse"


def _summary_row(
    position: int,
    run: Run,
    user: str,
) -> SummaryRow:
    cells: dict[str, Interval] = {}
    for statistic in run.summary:
        cells[statistic.name] = statistic_mean(run, user, statistic)
    # A failed sample has no user, so it counts for each user.
    failed_with = [dialogue.user for dialogue in run.failures]
    return SummaryRow(
        run=position,
        label=run.label,
        user=user,
        cells=cells,
        targets=run.target_count(user),
        dialogues=len(run.finished(user)),
        failures=failed_with.count(user) + failed_with.count(""),
    )


def _cached(
    run: Run,
    key: Hashable,
    compute: Callable[[], _Result],
) -> _Result:
    """Return the result of `compute` from the cache of a run; compute it on first use."""
    if key not in run.computed:
        run.computed[key] = compute()
    return run.computed[key]


def statistic_difference(
    run: Run,
    baseline: Run,
    user: str,
    statistic: Statistic,
) -> PairedDifference:
    """Return the paired difference between a run and a baseline on the targets that both finished."""
    cache_key = (baseline, user, statistic)
    return _cached(run, cache_key, lambda: _difference(run, baseline, user, statistic))


def _difference(
    run: Run,
    baseline: Run,
    user: str,
    statistic: Statistic,
) -> PairedDifference:
    ours = target_values(run, user, statistic)
    theirs = target_values(baseline, user, statistic)
    both: list[TargetKey] = []
    our_values: list[float] = []
    their_values: list[float] = []
    if run.is_on_data_of(baseline):
        for key, value in theirs.items():
            if key in ours:
                both.append(key)
                our_values.append(ours[key])
                their_values.append(value)
    return paired_difference(
        our_values,
        their_values,
        image_clusters(both),
        higher_is_better=statistic.higher_is_better,
    )


def _paired_row(
    position: int,
    run: Run,
    baseline: Run,
    user: str,
) -> PairedRow:
    ours = run.targets(user)
    theirs = baseline.targets(user)
    cells: dict[str, PairedDifference] = {}
    for statistic in run.summary:
        cells[statistic.name] = statistic_difference(run, baseline, user, statistic)
    return PairedRow(
        run=position,
        label=run.label,
        baseline=baseline.label,
        user=user,
        cells=cells,
        matched=len(ours & theirs),
        unmatched=len(ours ^ theirs),
    )


def _timing_row(run: Run, user: str) -> TimingRow:
    seconds = run.seconds_per_round(user)
    encodes = run.encode_seconds()
    return TimingRow(
        label=run.label,
        user=user,
        rounds=len(seconds),
        median_s=_quantile(seconds, 0.5),
        p95_s=_quantile(seconds, 0.95),
        encodes=len(encodes),
        encode_median_s=_quantile(encodes, 0.5),
    )


def _quantile(values: NDArray[np.float64], share: float) -> float:
    return float(np.quantile(values, share)) if len(values) else math.nan
