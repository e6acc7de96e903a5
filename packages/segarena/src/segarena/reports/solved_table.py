"""Share of targets solved within a number of clicks, and the restricted mean number of clicks.

A target that is never solved has no number of clicks; we only know that it needs more than the
limit (it is censored). NoC counts it as the limit, so NoC depends on the limit. The shares do not.
"""

from __future__ import annotations

from collections.abc import Sequence

from segarena.benchmark_rules import Statistic
from segarena.reports.cells import Cell, Column, Value
from segarena.reports.chart_series import run_column_names
from segarena.reports.display_names import metric_name
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import statistic_mean, user_names
from segarena.reports.sheets import Sheet
from segarena.reports.wording import bounds_text, value_text

CHECKPOINTS = (1, 2, 3, 5, 10, 20)
"""Rounds that have a column; the last round of a run always has one too."""

RESTRICTED_COLUMNS = 3
"""Number of limits for which the restricted mean is printed; the largest limits are used."""


def solved_sheet(
    runs: Sequence[Run],
    statistic: Statistic,
    *,
    word: str,
    target: str,
) -> Sheet:
    """Tabulate the share of targets solved by each checkpoint, one row per user and run.

    Args:
        runs: the runs; all have the same number of rounds.
        statistic: a NoC, whose metric and threshold define what is solved.
        word: word for a round.
        target: word for a target.
    """
    limits = checkpoints(runs[0].rounds)
    solved = [_statistic(statistic, "solved", limit) for limit in limits]
    restricted = [_statistic(statistic, "restricted_noc", limit) for limit in limits]
    # After one round the restricted mean is 1 for every run, so start at two.
    restricted = [one for one in restricted if one.round > 1][-RESTRICTED_COLUMNS:]
    head = [Column("User", key="user"), Column("Segmenter", key="segmenter")]
    for one in solved:
        head.append(Column(f"≤ {one.round}", "interval", f"solved_{one.round}"))
    for one in restricted:
        heading = f"{word.capitalize()}s, limit {one.round}"
        key = f"mean_{one.round}"
        head.append(Column(heading, "interval", key, higher_is_better=False))
    columns = run_column_names(runs)
    rows: list[tuple[Cell, ...]] = []
    for user in user_names(runs):
        for run in runs:
            if user not in run.users:
                continue
            cells = [_value(run, user, one) for one in (*solved, *restricted)]
            rows.append((user, columns[run], *cells))
    goal = f"{metric_name(statistic.metric)} of {statistic.threshold:g}"
    caption = (
        f"Share of {target}s that reached {goal} within a number of {word}s, and the mean number "
        f"of {word}s up to a limit, "
        f"for which an unsolved {target} counts as the limit: the area under the curve of unsolved {target}s."
    )
    return Sheet(
        name="solved",
        caption=caption,
        head=tuple(head),
        rows=tuple(rows),
    )


def checkpoints(rounds: int) -> list[int]:
    """Return the rounds that have a column in the table of runs with `rounds` rounds.

    >>> checkpoints(7)
    [1, 2, 3, 5, 7]
    """
    earlier = [limit for limit in CHECKPOINTS if limit < rounds]
    return [*earlier, rounds]


def _statistic(
    noc: Statistic,
    kind: str,
    limit: int,
) -> Statistic:
    return Statistic(
        name=f"{kind} {limit}",
        kind=kind,
        metric=noc.metric,
        threshold=noc.threshold,
        round=limit,
        higher_is_better=kind == "solved",
    )


def _value(
    run: Run,
    user: str,
    statistic: Statistic,
) -> Value:
    mean = statistic_mean(run, user, statistic)
    return Value(
        mean=mean.mean,
        low=mean.low,
        high=mean.high,
        printed=value_text(statistic, mean.mean),
        printed_bounds=bounds_text(statistic, mean.low, mean.high),
    )
