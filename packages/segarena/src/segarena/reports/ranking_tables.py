"""A page's matrix of many runs: values and places on each dataset, and every pair for who wants to look."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

from segarena.reports.chart_series import run_column_names
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import SIGNIFICANCE_LEVEL, user_names
from segarena.reports.sheets import Cell, Column, Sheet, Value, p_value_text
from segarena.reports.standings import Standing, best_user, by_data, standings
from segarena.reports.wording import (
    bounds_text,
    difference_bounds_text,
    difference_text,
    statistic_definition,
    value_text,
)
from segarena.roles import Statistic

RANK = (
    "place by the mean; below it the places that a run may have, behind those that are better and before those that "
    "are worse, with all pairs tested together"
)


def ranks_sheet(runs: Sequence[Run], statistic: Statistic) -> Sheet:
    """Return a row per segmenter: value and place on each dataset, and of several the mean of the places."""
    user = best_user(runs, statistic)
    groups = by_data(runs)
    columns = run_column_names(runs)
    places: dict[tuple[str, str], tuple[int, Standing]] = {}
    for data, group in groups.items():
        for place, standing in enumerate(standings(group, user, statistic), 1):
            places[columns[standing.run], data] = (place, standing)
    rows: list[tuple[float, tuple[Cell, ...]]] = []
    for name in dict.fromkeys(columns.values()):
        known = [places[name, data][0] for data in groups if (name, data) in places]
        mean = math.fsum(known) / len(known) if known else math.inf
        cells = chain.from_iterable(
            _rank_cells(statistic, places.get((name, data))) for data in groups
        )
        means = [Value(mean=mean, decimals=1)] if len(groups) > 1 else []
        rows.append((mean, (name, *means, *cells)))
    head: list[Column] = []
    for data in groups:
        is_one = len(groups) == 1
        of = "" if is_one else f" on {data}"
        about = f"{statistic_definition(statistic, runs[0])}{of and f' Here{of}.'}"
        heading = statistic.name if is_one else data
        head.append(
            Column(heading, "interval", f"{statistic.name}{of}", about, statistic.higher_is_better)
        )
        head.append(Column("Rank", "interval", f"rank{of}", f"{RANK}{of}", higher_is_better=False))
    if len(groups) > 1:
        mean_rank = [Column("Mean rank", "number", "mean rank", "mean of the ranks", False)]
    else:
        mean_rank = []
    if len(groups) > 1:
        what = f"{statistic.name} on each dataset and places by it"
    else:
        what = f"Places by {statistic.name}"
    with_user = f" with {user}" if len(user_names(runs)) > 1 else ""
    return Sheet(
        name="ranks",
        caption=f"{what}{with_user}; below a place, those that the paired tests leave open.",
        head=(Column("Segmenter", key="segmenter"), *mean_rank, *head),
        rows=tuple(row for _, row in sorted(rows, key=lambda row: row[0])),
    )


def pairs_sheet(runs: Sequence[Run], statistic: Statistic) -> Sheet:
    """Return a row per dataset and pair of runs: by how much the one with the better mean is ahead."""
    user = best_user(runs, statistic)
    columns = run_column_names(runs)
    labels = {run.label: columns[run] for run in runs}
    rows: list[tuple[Cell, ...]] = []
    for data, group in by_data(runs).items():
        for one in standings(group, user, statistic):
            for label, lead in one.leads.items():
                p_value = one.adjusted[label]
                ahead = Value(
                    mean=lead.difference,
                    low=lead.low,
                    high=lead.high,
                    printed=difference_text(statistic, lead),
                    printed_bounds=difference_bounds_text(statistic, lead),
                    mark=""
                    if not p_value <= SIGNIFICANCE_LEVEL
                    else "better"
                    if lead.difference > 0
                    else "worse",
                )
                ps = (
                    Value(mean=value, printed=p_value_text(value).removeprefix("p = "))
                    for value in (lead.p_value, p_value)
                )
                rows.append(
                    (data, columns[one.run], labels[label], ahead, *ps, lead.n, lead.clusters)
                )
    names = (Column(name, key=name.lower()) for name in ("Dataset", "Ahead", "Behind"))
    numbers = {
        "p": "p_value",
        "p, all pairs": "p_all_pairs",
        "Targets": "targets",
        "Independent": "independent",
    }
    return Sheet(
        name="pairs",
        caption=f"Every pair, by how much the first is better in {statistic.name}.",
        head=(
            *names,
            Column("By", "interval", "by"),
            *(Column(name, "number", key) for name, key in numbers.items()),
        ),
        rows=tuple(rows),
        notes=(
            "Bold: p is at most 0.05 with all pairs of a dataset tested together, each sample counting the same.",
        ),
    )


def _rank_cells(statistic: Statistic, found: tuple[int, Standing] | None) -> tuple[Value, Value]:
    if found is None:
        return Value(mean=math.nan), Value(mean=math.nan)
    place, standing = found
    mean = standing.mean
    value = Value(
        mean=mean.mean,
        low=mean.low,
        high=mean.high,
        printed=value_text(statistic, mean.mean),
        printed_bounds=bounds_text(statistic, mean.low, mean.high),
        mark="best" if place == 1 else "",
    )
    if standing.first == standing.last:
        places = f"{standing.first}"
    else:
        places = f"{standing.first} to {standing.last}"
    return value, Value(
        mean=place,
        low=standing.first,
        high=standing.last,
        printed=f"{place}",
        printed_bounds=places,
    )
