"""Standings: pairwise comparisons of all runs on a dataset, on the targets that both runs finished."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from segarena.benchmark_rules import Statistic
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import (
    SIGNIFICANCE_LEVEL,
    TargetKey,
    image_clusters,
    statistic_difference,
    statistic_mean,
    target_values,
    user_names,
)
from segarena.statistics.intervals import Interval, PairedDifference
from segarena.statistics.pairwise_tests import PairwiseTests, compare_all_pairs, rank_ranges


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class Standing:
    """The rank of a run among the runs on the same data.

    Attributes:
        run: the run.
        mean: mean of the statistic with its interval.
        first, last: range of possible ranks: after the runs that are significantly better and
            before those that are significantly worse, with all pairs tested together.
        leads: difference to each lower-ranked run, by label; positive means better.
        adjusted: p-values of these differences by label, adjusted for all pairs.
    """

    run: Run
    mean: Interval
    first: int
    last: int
    leads: Mapping[str, PairedDifference]
    adjusted: Mapping[str, float]


def standings(
    runs: Sequence[Run],
    user: str,
    statistic: Statistic,
) -> list[Standing]:
    """Return the runs of one dataset sorted by mean, best first; runs without a value are omitted."""
    sign = 1 if statistic.higher_is_better else -1
    means = {run: statistic_mean(run, user, statistic) for run in runs}
    known = [run for run in runs if not math.isnan(means[run].mean)]
    known.sort(key=lambda run: -sign * means[run].mean)
    tested = _test_all_pairs(known, user, statistic)
    firsts, lasts = rank_ranges(
        tested.ahead(higher_is_better=statistic.higher_is_better, level=SIGNIFICANCE_LEVEL)
    )
    leads: list[dict[str, PairedDifference]] = [{} for _ in known]
    for one, other in combinations(range(len(known)), 2):
        difference = statistic_difference(known[one], known[other], user, statistic)
        leads[one][known[other].label] = difference if sign > 0 else difference.turned()
    found: list[Standing] = []
    for place, run in enumerate(known):
        p_values = tested.p_values[place, place + 1 :].tolist()
        standing = Standing(
            run=run,
            mean=means[run],
            first=int(firsts[place]),
            last=int(lasts[place]),
            leads=leads[place],
            adjusted=dict(zip(leads[place], p_values, strict=True)),
        )
        found.append(standing)
    return found


def _test_all_pairs(
    runs: Sequence[Run],
    user: str,
    statistic: Statistic,
) -> PairwiseTests:
    """Return the pairwise differences of runs on the same data, with all pairs tested together."""
    columns: dict[TargetKey, int] = {}
    values = [target_values(run, user, statistic) for run in runs]
    for run_values in values:
        for key in run_values:
            columns.setdefault(key, len(columns))
    # NaN for targets that a run did not finish.
    table = np.full((len(runs), len(columns)), np.nan)
    for row, run_values in enumerate(values):
        own_columns = [columns[key] for key in run_values]
        table[row, own_columns] = list(run_values.values())
    return compare_all_pairs(table, image_clusters(list(columns)))


def best_user(runs: Sequence[Run], statistic: Statistic) -> str:
    """Return the user with the best mean of any run; the first user in a tie."""
    sign = 1 if statistic.higher_is_better else -1

    def best_mean(user: str) -> float:
        best = -math.inf
        for run in runs:
            if user not in run.users:
                continue
            mean = sign * statistic_mean(run, user, statistic).mean
            if not math.isnan(mean):
                best = max(best, mean)
        return best

    return max(user_names(runs), key=best_mean)


def by_data(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return the runs grouped by dataset."""
    groups: defaultdict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.data].append(run)
    return dict(groups)
