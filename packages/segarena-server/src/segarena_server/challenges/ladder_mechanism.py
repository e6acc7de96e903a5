"""The ladder: a run of a team counts only if it beats the team's previous best by more than chance.

A team that sees every small gain of many runs keeps the lucky ones and climbs a board without a
better model. On a ladder, a run either is a step or is not; between steps nothing changes, so a run
reveals only one bit.

In every test, repeats are on a ladder for the same reason: their scores are about samples that the
team knows, and each score answers a question about the ground truth of these samples. The number of
repeats that can become steps is limited as well, because many runs with one bit each would still
reveal the ground truth.

Source: Blum and Hardt, The Ladder: a reliable leaderboard for machine learning competitions, ICML
2015. They require a gain above a fixed size or above the spread of the differences; this module
uses the board's own significance test.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot, isnan

import numpy as np
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from segarena.reports.boards.extracts import Extract, read_extract
from segarena.reports.run_statistics import TargetKey, image_clusters, mean_over_targets
from segarena.roles import Statistic
from segarena.statistics.intervals import Interval, paired_difference
from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.challenges.score_visibility import is_on_ladder
from segarena_server.db.orm_models import Challenge, Run, Team

SIGNIFICANCE_LEVEL = 0.05
MIN_SHARED_SAMPLES = 6
"""Minimum number of samples in both runs; with fewer, no paired test can be significant at 5 %.

Means over fewer samples are not compared either, because the interval of two equal values has no
width.
"""
MAX_SCORED_REPEATS = 10
"""Number of repeats of a team's circle in a phase that can be steps: the first to end.

Later repeats show their scores when the phase closes.

With ten, no attack of `tests/stress/score_oracle.py` gains more than .01 mean IoU.
"""


def decide_step(session: Session, run: Run) -> None:
    """Decide whether a run that just ended is a step; call it once per run, in the order in which runs end.

    A ranked run of a phase with a ladder is compared with its team's last ranked step. A repeat in
    a test, with or without a ladder, is compared with the last run of the team's circle whose
    scores were shown.
    """
    phase = find_phase(session.get_one(Challenge, run.challenge_id), run.phase)
    if not run.extract or not is_on_ladder(phase, is_repeat=bool(run.unranked)):
        return
    # Of two runs of a team that end at the same time, one must come first.
    session.get(Team, run.team_id, with_for_update=True)
    if run.unranked and _repeats_before(session, run) >= MAX_SCORED_REPEATS:
        run.is_step = False
        return
    best = last_step(session, run)
    best_extract = read_extract(best.extract) if best else None
    run.is_step = is_step(read_extract(run.extract), best_extract)


def last_step(session: Session, run: Run) -> Run | None:
    """Return the latest step with which a run is compared, or None if there is none.

    A ranked run is compared with the ranked steps of its team. A repeat is compared with all runs
    of the team's circle whose scores were shown, because members of several teams would otherwise
    have several first runs.
    """
    steps = _others_over(run).where(Run.fault == "", Run.is_step)
    if run.unranked:
        steps = steps.where(Run.team_id.in_(_circle(run)))
    else:
        steps = steps.where(Run.team_id == run.team_id, Run.unranked == "")
    return session.scalar(steps.order_by(Run.ended_at.desc()).limit(1))


def _repeats_before(session: Session, run: Run) -> int:
    """Return how many repeats of the team's circle in this phase have ended, not counting the run itself."""
    repeats = _others_over(run).where(Run.unranked != "", Run.team_id.in_(_circle(run)))
    return session.scalar(repeats.with_only_columns(func.count())) or 0


def _others_over(run: Run) -> Select[Run]:
    return select(Run).where(
        Run.challenge_id == run.challenge_id,
        Run.phase == run.phase,
        Run.id != run.id,
        Run.state == "over",
        Run.extract != "",
    )


def _circle(run: Run) -> Select[int]:
    circle = select(Team.circle).where(Team.id == run.team_id).scalar_subquery()
    return select(Team.id).where(Team.circle == circle)


def is_step(run: Extract, best: Extract | None) -> bool:
    """Return whether a run is a step: the first run with a value, or a run that beats the last step.

    The comparison uses the statistic that the benchmark ranks by, averaged over its users. Targets
    that both runs contain are compared in pairs. If these belong to fewer than `MIN_SHARED_SAMPLES`
    samples, for example when each run draws new ones, a normal test compares the means over all
    targets by their intervals, provided that each run has at least that many samples with a value.
    An incomplete run is never a step after a complete one, whatever its mean, because its mean
    lacks the missing samples.

    Args:
        run: extract of the finished run.
        best: extract of the step with which the run is compared; None if there is none.
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
    """Return whether a run is complete: all samples are loaded and done, and no dialogue failed."""
    return run.done == run.samples and not run.unloaded and not any(run.failures.values())


def ladder_score(run: Extract) -> float | None:
    """Return the score of a run on the ladder, the mean over targets and users, or None without values."""
    values = _values(run, _ranking_statistic(run))
    return float(np.mean(list(values.values()))) if values else None


def _ranking_statistic(run: Extract) -> Statistic:
    return next(statistic for statistic in run.summary if statistic.name == run.decides)


def _is_better(
    values: Mapping[TargetKey, float],
    others: Mapping[TargetKey, float],
    sign: int,
) -> bool:
    shared = [key for key in others if key in values]
    shared_samples = {sample for sample, _ in shared}
    if len(shared_samples) >= MIN_SHARED_SAMPLES:
        own_shared = [values[key] for key in shared]
        other_shared = [others[key] for key in shared]
        paired = paired_difference(own_shared, other_shared, image_clusters(shared))
        return paired.p_value <= SIGNIFICANCE_LEVEL and sign * paired.difference > 0
    if min(_sample_count(values), _sample_count(others)) < MIN_SHARED_SAMPLES:
        return False
    own_mean = mean_over_targets(values)
    other_mean = mean_over_targets(others)
    spread = hypot(_half_width(own_mean), _half_width(other_mean))
    return not isnan(spread) and sign * (own_mean.mean - other_mean.mean) > spread


def _sample_count(values: Mapping[TargetKey, float]) -> int:
    return len({sample for sample, _ in values})


def _half_width(interval: Interval) -> float:
    return (interval.high - interval.low) / 2


def _values(run: Extract, statistic: Statistic) -> dict[TargetKey, float]:
    """Return the mean of each target over the users that have a value for it; omit targets without any value."""
    columns = [run.values[user].get(statistic.name, ()) for user in run.users]
    keys = zip(run.targets.sample, run.targets.target, strict=True)
    means: dict[TargetKey, float] = {}
    for place, key in enumerate(keys):
        # The column of a user is empty if the user's dialogues have no value of this statistic.
        of_target = [column[place] for column in columns if column]
        defined = [value for value in of_target if value is not None and not isnan(value)]
        if len(defined) == 1:
            # The common case, for which `np.mean` would only cost time.
            means[key] = float(defined[0])
        elif defined:
            means[key] = float(np.mean(defined))
    return means
