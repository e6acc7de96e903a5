"""Which run is best: every run of a dataset against every other, on the targets that both finished."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from segarena.reports.reading import Run
from segarena.reports.tables import SIGNIFICANT, difference_of, mean_of, user_names
from segarena.roles import Statistic
from segarena.statistics.intervals import Interval, PairedDifference, holm


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """A run among those on the same data.

    Attributes:
        run: the run.
        mean: of the statistic, with its interval.
        first, last: the places it may have: behind those that are better by the paired test, before those that are
            worse, all pairs taken together (Holm).
        leads: by label, by how much it is ahead of those after it; positive is good.
        adjusted: by label, the p-values of these, all pairs taken together.
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
    means = {run: mean_of(run, user, statistic) for run in runs}
    known = sorted((run for run in runs if not math.isnan(means[run].mean)), key=lambda run: -sign * means[run].mean)
    pairs = list(combinations(range(len(known)), 2))
    found = [difference_of(known[one], known[other], user, statistic) for one, other in pairs]
    adjusted = holm([1.0 if math.isnan(difference.p_value) else difference.p_value for difference in found])
    better, worse = [0] * len(known), [0] * len(known)
    leads: list[dict[str, PairedDifference]] = [{} for _ in known]
    ps: list[dict[str, float]] = [{} for _ in known]
    for (one, other), difference, p_value in zip(pairs, found, adjusted, strict=True):
        lead = difference if sign > 0 else difference.turned()
        leads[one][known[other].label] = lead
        ps[one][known[other].label] = p_value
        if p_value <= SIGNIFICANT:
            # On the targets of both the order may be another one than that of the means.
            ahead, behind = (one, other) if lead.difference > 0 else (other, one)
            better[behind] += 1
            worse[ahead] += 1
    return [
        Standing(
            run=run,
            mean=means[run],
            first=1 + better[place],
            last=len(known) - worse[place],
            leads=leads[place],
            adjusted=ps[place],
        )
        for place, run in enumerate(known)
    ]


def best_user(runs: Sequence[Run], statistic: Statistic) -> str:
    """Return the user with whom any run has the best mean; the first of equal ones."""
    sign = 1 if statistic.higher_is_better else -1
    users = user_names(runs)

    def best(user: str) -> float:
        means = (sign * mean_of(run, user, statistic).mean for run in runs if user in run.users)
        return max((mean for mean in means if not math.isnan(mean)), default=-math.inf)

    return max(users, key=best)


def by_data(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return the runs on each dataset."""
    groups: defaultdict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.data].append(run)
    return dict(groups)
