"""Which run is best: every run of a dataset against every other, on the targets that both finished."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import (
    SIGNIFICANCE_LEVEL,
    image_clusters,
    statistic_difference,
    statistic_mean,
    target_values,
    user_names,
)
from segarena.roles import Statistic
from segarena.statistics.intervals import Interval, PairedDifference
from segarena.statistics.pairs import Pairs, all_pairs, places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """A run among those on the same data.

    Attributes:
        run: the run.
        mean: of the statistic, with its interval.
        first, last: the places it may have: behind those that are better by the paired test, before those that are
            worse, all pairs tested together.
        leads: by label, by how much it is ahead of those after it; positive is good.
        adjusted: by label, the p-values of these, all pairs tested together.
    """

    run: Run
    mean: Interval
    first: int
    last: int
    leads: Mapping[str, PairedDifference]
    adjusted: Mapping[str, float]


def standings(runs: Sequence[Run], user: str, statistic: Statistic) -> list[Standing]:
    """Return the runs of one dataset by their means, the best first; runs without a value are left out."""
    sign = 1 if statistic.higher_is_better else -1
    means = {run: statistic_mean(run, user, statistic) for run in runs}
    known = sorted(
        (run for run in runs if not math.isnan(means[run].mean)),
        key=lambda run: -sign * means[run].mean,
    )
    tested = _tested(known, user, statistic)
    firsts, lasts = places(
        tested.ahead(higher_is_better=statistic.higher_is_better, level=SIGNIFICANCE_LEVEL)
    )
    leads: list[dict[str, PairedDifference]] = [{} for _ in known]
    for one, other in combinations(range(len(known)), 2):
        difference = statistic_difference(known[one], known[other], user, statistic)
        leads[one][known[other].label] = difference if sign > 0 else difference.turned()
    return [
        Standing(
            run=run,
            mean=means[run],
            first=int(firsts[place]),
            last=int(lasts[place]),
            leads=leads[place],
            adjusted=dict(
                zip(leads[place], tested.p_values[place, place + 1 :].tolist(), strict=True)
            ),
        )
        for place, run in enumerate(known)
    ]


def _tested(runs: Sequence[Run], user: str, statistic: Statistic) -> Pairs:
    """Return how runs on the same data differ, all pairs tested together."""
    values = [target_values(run, user, statistic) for run in runs]
    keys = list(dict.fromkeys(chain.from_iterable(values)))
    table = [[of_run.get(key, math.nan) for key in keys] for of_run in values]
    return all_pairs(np.reshape(table, (len(runs), len(keys))), image_clusters(keys))


def best_user(runs: Sequence[Run], statistic: Statistic) -> str:
    """Return the user with whom any run has the best mean; the first of equal ones."""
    sign = 1 if statistic.higher_is_better else -1
    users = user_names(runs)

    def best(user: str) -> float:
        means = (
            sign * statistic_mean(run, user, statistic).mean for run in runs if user in run.users
        )
        return max((mean for mean in means if not math.isnan(mean)), default=-math.inf)

    return max(users, key=best)


def by_data(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return the runs on each dataset."""
    groups: defaultdict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.data].append(run)
    return dict(groups)
