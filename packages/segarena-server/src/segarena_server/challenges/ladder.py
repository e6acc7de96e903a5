"""The ladder: only those runs of a team count that are better than its previous best by more than chance.

A team that sees every small gain of many runs keeps the lucky ones, and climbs a board without a better model. On a
ladder a run either is a step or is not; between steps nothing changes, so that a run reveals one bit.

Source: Blum and Hardt, The Ladder: a reliable leaderboard for machine learning competitions, ICML 2015. They require a
gain above a fixed size or the spread of the differences; here it is the significance test that the board itself uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot, isnan

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.reports.boards.extracts import Extract, read_extract
from segarena.reports.run_statistics import TargetKey, image_clusters, mean_over_targets
from segarena.roles import Statistic
from segarena.statistics.intervals import Interval, paired_difference
from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.db.orm_models import Challenge, Run, Team

SIGNIFICANCE_LEVEL = 0.05
MIN_SHARED_SAMPLES = 6
"""Samples that both runs must contain; with fewer no paired test can be significant at 5 %."""


def decide_step(session: Session, run: Run) -> None:
    """Decide whether a run that just ended is a step; called once, in the order in which a team's runs end."""
    phase = find_phase(session.get_one(Challenge, run.challenge_id), run.phase)
    if not phase.ladder or not run.extract:
        return
    # Of two runs of a team that end at once, one has to be first.
    session.get(Team, run.team_id, with_for_update=True)
    best = last_step(session, run)
    best_extract = read_extract(best.extract) if best else None
    run.is_step = is_step(read_extract(run.extract), best_extract)


def last_step(session: Session, run: Run) -> Run | None:
    """Return the latest step among the other runs of a team in the same phase; None when there is none."""
    steps = select(Run).where(
        Run.challenge_id == run.challenge_id,
        Run.phase == run.phase,
        Run.team_id == run.team_id,
        Run.id != run.id,
        Run.state == "over",
        Run.extract != "",
        Run.fault == "",
        Run.is_step,
    )
    return session.scalar(steps.order_by(Run.ended_at.desc()).limit(1))


def is_step(run: Extract, best: Extract | None) -> bool:
    """Return whether a run is a step: the first run with a value is one, and each that is better than the last step.

    Runs are compared by the statistic that the benchmark ranks by, the mean over its users. Targets that both runs
    contain are compared pair by pair. If these belong to fewer than `MIN_SHARED_SAMPLES` samples, as when each run
    draws new ones, the means over all targets are compared by a normal test from their intervals. An incomplete run
    is never a step after a complete one, whatever its mean, since that lacks the missing samples.

    Args:
        run: that has ended.
        best: the last step of the same team; None when there is none.
    """
    statistic = _ranking_statistic(run)
    values = _values(run, statistic)
    if not values:
        return False
    best_values = _values(best, statistic) if best else {}
    if best is None or not best_values:
        return True
    if is_whole(run) != is_whole(best):
        return is_whole(run)
    return _is_better(values, best_values, 1 if statistic.higher_is_better else -1)


def is_whole(run: Extract) -> bool:
    """Return whether a run is complete: all its samples are done, and no dialogue failed."""
    return run.done == run.samples and not any(run.failures.values())


def ladder_score(run: Extract) -> float | None:
    """Return the score of a run on the ladder, the mean over targets and users; None where there is no value."""
    values = _values(run, _ranking_statistic(run))
    return mean_over_targets(values).mean if values else None


def _ranking_statistic(run: Extract) -> Statistic:
    return next(statistic for statistic in run.summary if statistic.name == run.decides)


def _is_better(
    values: Mapping[TargetKey, float], others: Mapping[TargetKey, float], sign: int
) -> bool:
    shared = [key for key in others if key in values]
    shared_samples = {sample for sample, _ in shared}
    if len(shared_samples) >= MIN_SHARED_SAMPLES:
        own_shared = [values[key] for key in shared]
        other_shared = [others[key] for key in shared]
        paired = paired_difference(own_shared, other_shared, image_clusters(shared))
        return paired.p_value <= SIGNIFICANCE_LEVEL and sign * paired.difference > 0
    own_mean = mean_over_targets(values)
    other_mean = mean_over_targets(others)
    spread = hypot(_half_width(own_mean), _half_width(other_mean))
    return not isnan(spread) and sign * (own_mean.mean - other_mean.mean) > spread


def _half_width(interval: Interval) -> float:
    return (interval.high - interval.low) / 2


def _values(run: Extract, statistic: Statistic) -> dict[TargetKey, float]:
    """Return the value of each target of a run: the mean over the users that have one."""
    columns = [run.values[user].get(statistic.name, ()) for user in run.users]
    keys = zip(run.targets.sample, run.targets.target, strict=True)
    means: dict[TargetKey, float] = {}
    for place, key in enumerate(keys):
        # A column is empty for a user whose dialogues have no value of this statistic.
        of_target = [column[place] for column in columns if column]
        defined = [value for value in of_target if value is not None and not isnan(value)]
        if defined:
            means[key] = float(np.mean(defined))
    return means
