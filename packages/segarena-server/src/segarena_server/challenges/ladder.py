"""The ladder: of a team's many runs only those count that are better than the one before by more than chance.

Whoever sees every small gain of many tries keeps the lucky ones, and climbs a board without a better model. On a ladder
a run is a step or it is none; between steps nothing moves, so that a try tells one bit. After Blum and Hardt, The
Ladder: a reliable leaderboard for machine learning competitions, ICML 2015; they ask for a gain above a fixed size or
the spread of the differences, this asks for the test that the board itself uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot, isnan

import numpy as np

from segarena.reports.boards.extracts import Extract
from segarena.reports.run_statistics import TargetKey, image_clusters, mean_over_targets
from segarena.roles import Statistic
from segarena.statistics.intervals import Interval, paired_difference

SIGNIFICANCE_LEVEL = 0.05
MIN_SHARED_SAMPLES = 6
"""Samples that both runs are about; with fewer no paired test can refuse anything at 5 %."""


def is_step(run: Extract, best: Extract | None) -> bool:
    """Tell whether a run is a step: the first with a value is one, and each that is better than the last step.

    Judged by the statistic that the benchmark ranks by, the mean over its users. Targets that both runs are about are
    compared pair by pair; where these are of fewer than `FEWEST_SHARED` samples, as when each run draws new ones, the
    means over all are, by a normal test from their intervals. A run that lacks samples or has failed dialogues is none
    after a whole one, whatever its mean: what is missing is not in it.

    Args:
        run: that has ended.
        best: the last step of the same team; None when there is none.
    """
    statistic = _measure(run)
    ours = _values(run, statistic)
    if not ours:
        return False
    theirs = _values(best, statistic) if best else {}
    if best is None or not theirs or is_whole(run) != is_whole(best):
        return not theirs or is_whole(run)
    return _is_better(ours, theirs, 1 if statistic.higher_is_better else -1)


def is_whole(run: Extract) -> bool:
    """Tell whether every sample of a run was held to its end, and no dialogue failed."""
    return run.done == run.samples and not any(run.failures.values())


def ladder_score(run: Extract) -> float | None:
    """Return what a ladder goes by, the mean over targets and users; None where there is no value."""
    values = _values(run, _measure(run))
    return mean_over_targets(values).mean if values else None


def _measure(run: Extract) -> Statistic:
    return next(one for one in run.summary if one.name == run.decides)


def _is_better(
    ours: Mapping[TargetKey, float], theirs: Mapping[TargetKey, float], sign: int
) -> bool:
    both = [key for key in theirs if key in ours]
    if len({sample for sample, _ in both}) >= MIN_SHARED_SAMPLES:
        found = paired_difference(
            [ours[key] for key in both], [theirs[key] for key in both], image_clusters(both)
        )
        return found.p_value <= SIGNIFICANCE_LEVEL and sign * found.difference > 0
    one = mean_over_targets(ours)
    other = mean_over_targets(theirs)
    spread = hypot(_half(one), _half(other))
    return not isnan(spread) and sign * (one.mean - other.mean) > spread


def _half(interval: Interval) -> float:
    return (interval.high - interval.low) / 2


def _values(run: Extract, statistic: Statistic) -> dict[TargetKey, float]:
    """Return the values of a run by target: the mean over the users who have one."""
    rows = [
        [np.nan if v is None else v for v in run.values[user].get(statistic.name, ())]
        for user in run.users
    ]
    keys = list(zip(run.targets.sample, run.targets.target, strict=True))
    found = {
        key: [row[n] for row in rows if row and not isnan(row[n])] for n, key in enumerate(keys)
    }
    return {key: float(np.mean(values)) for key, values in found.items() if values}
