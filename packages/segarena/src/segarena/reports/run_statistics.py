"""The numbers of a report: summaries with intervals, paired differences, timings. No formatting here."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.roles import Statistic
from segarena.statistics.intervals import (
    Interval,
    PairedDifference,
    bootstrap_mean,
    paired_difference,
)
from segarena.statistics.over_rounds import over_rounds, statistic_values


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRow:
    """One segmenter with one user.

    Attributes:
        run: position of the run in the report.
        cells: by statistic name, the mean over targets with its 95 % interval.
        targets: those with a finished dialogue.
        dialogues: those that finished.
        failures: dialogues that went wrong, whole samples that failed included.
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
    """One run minus the first one, with one user; `matched` targets were finished by both, `unmatched` by one."""

    run: int
    label: str
    baseline: str
    user: str
    cells: Mapping[str, PairedDifference]
    matched: int
    unmatched: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingRow:
    """Seconds of one segmenter with one user; NaN where nothing was timed."""

    label: str
    user: str
    rounds: int
    median_s: float
    p95_s: float
    encodes: int
    encode_median_s: float


SIGNIFICANCE_LEVEL = 0.05
"""A difference with at most this p-value is marked as better or worse."""

_Result = TypeVar("Result")

TargetKey = tuple[str, str]
"""Sample, target."""


def target_values(run: Run, user: str, statistic: Statistic) -> Mapping[TargetKey, float]:
    """Return `statistic` of each target, the mean over its repeats, in the order of the run.

    Dialogues that failed, or in which the metric was not defined in some round, are left out.
    """
    what = ("values", user, replace(statistic, name="", higher_is_better=True))
    return _once(run, what, lambda: _target_values(run, user, statistic))


def _target_values(run: Run, user: str, statistic: Statistic) -> dict[TargetKey, float]:
    dialogues, curves = _curves(run, user, statistic.metric)
    if not dialogues:
        return {}
    values = statistic_values(statistic, curves, run.config.benchmark.options)
    keys = _once(
        run, ("keys", user, statistic.metric), lambda: [dialogue.key[:2] for dialogue in dialogues]
    )
    single = dict(zip(keys, values.tolist(), strict=True))
    if len(single) == len(keys):
        return single
    groups: defaultdict[TargetKey, list[float]] = defaultdict(list)
    for key, value in zip(keys, values.tolist(), strict=True):
        groups[key].append(value)
    return {key: math.fsum(group) / len(group) for key, group in groups.items()}


def _curves(
    run: Run, user: str, metric: str
) -> tuple[Sequence[DialogueRecord], NDArray[np.float64]]:
    return _once(run, ("curves", user, metric), lambda: run.curves(user, metric))


def mean_over_users(run: Run, statistic: Statistic) -> dict[TargetKey, float]:
    """Return `statistic` of each target, the mean over the users who finished with it."""
    found: dict[TargetKey, list[float]] = {}
    for user in run.users:
        for key, value in target_values(run, user, statistic).items():
            found.setdefault(key, []).append(value)
    return {key: math.fsum(values) / len(values) for key, values in found.items()}


def statistic_mean(run: Run, user: str, statistic: Statistic) -> Interval:
    """Return the mean of a statistic over targets, as `mean_over_targets`; the draws are made once for each run."""
    what = (user, replace(statistic, name="", higher_is_better=True))
    return _once(run, what, lambda: _mean_of(run, user, statistic))


def _mean_of(run: Run, user: str, statistic: Statistic) -> Interval:
    values = target_values(run, user, statistic)
    # All statistics of a metric are defined on the same targets.
    clusters = _once(
        run, ("clusters", user, statistic.metric), lambda: image_clusters(list(values))
    )
    return bootstrap_mean(list(values.values()), clusters)


def mean_over_targets(values: Mapping[TargetKey, float]) -> Interval:
    """Return the mean with its 95 % interval; images are resampled, so targets of one image stay together."""
    return bootstrap_mean(list(values.values()), image_clusters(list(values)))


def image_clusters(keys: Sequence[TargetKey]) -> NDArray[np.int64]:
    """Return the number of each target's image: order of appearance, so that names never decide an interval."""
    places: dict[str, int] = {}
    return np.array([places.setdefault(sample, len(places)) for sample, _ in keys], dtype=np.int64)


def summary_rows(runs: Sequence[Run]) -> tuple[SummaryRow, ...]:
    """Return one row per user and run, the runs of one user together."""
    return tuple(_summary_row(position, run, user) for position, run, user in _pairs(runs))


def paired_rows(runs: Sequence[Run]) -> tuple[PairedRow, ...]:
    """Return every later run minus the first one on the same dataset, for each user that both have."""
    rows: list[PairedRow] = []
    for position, run, user in _pairs(runs):
        first = next(other for other in runs if run.is_on_data_of(other))
        if first is not run and user in first.users:
            rows.append(_paired_row(position, run, first, user))
    return tuple(rows)


def timing_rows(runs: Sequence[Run]) -> tuple[TimingRow, ...]:
    """Return one row per user and run."""
    return tuple(_timing_row(run, user) for _, run, user in _pairs(runs))


def _pairs(runs: Sequence[Run]) -> Iterator[tuple[int, Run, str]]:
    """Yield the place of a run, the run and one of its users, user by user."""
    for user in user_names(runs):
        for place, run in enumerate(runs):
            if user in run.users:
                yield place, run, user


def user_names(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the users of all runs, each once, in the order of the runs."""
    return tuple(dict.fromkeys(chain.from_iterable(run.users for run in runs)))


def curve_intervals(run: Run, user: str, metric: str) -> list[Interval]:
    """Return the mean of `metric` over targets after each round, ended dialogues holding their last value."""
    at = (
        Statistic(name="", kind="at_round", metric=metric, round=k)
        for k in range(1, run.rounds + 1)
    )
    return [statistic_mean(run, user, statistic) for statistic in at]


def noc_counts(run: Run, user: str, statistic: Statistic) -> tuple[NDArray[np.int64], int]:
    """Return how many dialogues needed 1, 2, ... rounds, and how many never got there."""
    dialogues, curves = _curves(run, user, statistic.metric)
    counts = np.zeros(run.rounds, dtype=np.int64)
    if not dialogues:
        return counts, 0
    solved = (curves >= statistic.threshold).any(axis=1)
    needed = statistic_values(statistic, curves)[solved].astype(np.int64)
    return counts + np.bincount(needed - 1, minlength=run.rounds), int((~solved).sum())


def summary_metrics(run: Run) -> tuple[str, ...]:
    """Return the metrics that the summary reads, each once; the first one is what figures show."""
    return tuple(dict.fromkeys(statistic.metric for statistic in run.summary)) or ("iou",)


def summary_thresholds(run: Run, metric: str) -> tuple[float, ...]:
    """Return the thresholds of the summary for `metric`, ascending."""
    found = {
        s.threshold for s in run.summary if over_rounds(s.kind).has_threshold and s.metric == metric
    }
    return tuple(sorted(found))


def difference_direction(
    difference: PairedDifference, statistic: Statistic
) -> Literal["better", "worse", "unclear"]:
    """Tell what a difference says: "unclear" unless the paired test refuses "no difference" at 5 %."""
    if not difference.p_value <= SIGNIFICANCE_LEVEL:
        return "unclear"
    if (difference.difference > 0) == statistic.higher_is_better:
        return "better"
    return "worse"


def _summary_row(position: int, run: Run, user: str) -> SummaryRow:
    finished = run.finished(user)
    return SummaryRow(
        run=position,
        label=run.label,
        user=user,
        cells={s.name: statistic_mean(run, user, s) for s in run.summary},
        targets=len({(d.sample, d.target) for d in finished}),
        dialogues=len(finished),
        failures=sum(d.user in (user, "") for d in run.failures),
    )


def _once(run: Run, what: Hashable, compute: Callable[[], _Result]) -> _Result:
    """Return what `compute` gives; several tables and figures show it."""
    if what not in run.computed:
        run.computed[what] = compute()
    return run.computed[what]


def statistic_difference(
    run: Run, baseline: Run, user: str, statistic: Statistic
) -> PairedDifference:
    """Return how a run differs from another one with one user, on the targets that both finished."""
    return _once(
        run, (baseline, user, statistic), lambda: _difference(run, baseline, user, statistic)
    )


def _difference(run: Run, baseline: Run, user: str, statistic: Statistic) -> PairedDifference:
    ours, theirs = (target_values(one, user, statistic) for one in (run, baseline))
    both = [key for key in theirs if key in ours] if run.is_on_data_of(baseline) else []
    return paired_difference(
        [ours[key] for key in both],
        [theirs[key] for key in both],
        image_clusters(both),
        higher_is_better=statistic.higher_is_better,
    )


def _paired_row(position: int, run: Run, baseline: Run, user: str) -> PairedRow:
    ours = run.targets(user)
    theirs = baseline.targets(user)
    return PairedRow(
        run=position,
        label=run.label,
        baseline=baseline.label,
        user=user,
        cells={
            statistic.name: statistic_difference(run, baseline, user, statistic)
            for statistic in run.summary
        },
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
