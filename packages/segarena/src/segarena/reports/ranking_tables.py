"""Tables for comparing many runs: value and rank on each dataset, and all pairwise comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence

from segarena.benchmark_rules import Statistic
from segarena.reports.cells import Cell, CellMark, Column, Value, p_value_text
from segarena.reports.chart_series import run_column_names
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import SIGNIFICANCE_LEVEL, user_names
from segarena.reports.sheets import Sheet
from segarena.reports.standings import Standing, best_user, by_data, standings
from segarena.reports.wording import (
    bounds_text,
    difference_bounds_text,
    difference_text,
    statistic_definition,
    value_text,
)
from segarena.statistics.intervals import PairedDifference

RANK = (
    "rank by the mean; below it the range of ranks that a run may have, behind the runs that are significantly better "
    "and ahead of those that are significantly worse, with all pairs tested together"
)


def ranks_sheet(runs: Sequence[Run], statistic: Statistic) -> Sheet:
    """Tabulate the value and rank of each segmenter on each dataset.

    If there are several datasets, an additional column contains the mean rank.
    """
    user = best_user(runs, statistic)
    groups = by_data(runs)
    columns = run_column_names(runs)
    places: dict[tuple[str, str], tuple[int, Standing]] = {}
    for data, group in groups.items():
        for place, standing in enumerate(standings(group, user, statistic), 1):
            places[columns[standing.run], data] = (place, standing)
    rows: list[tuple[float, tuple[Cell, ...]]] = []
    has_several = len(groups) > 1
    for name in dict.fromkeys(columns.values()):
        known: list[int] = []
        cells: list[Cell] = [name]
        for data in groups:
            placed = places.get((name, data))
            cells += _rank_cells(statistic, placed)
            if placed is not None:
                known.append(placed[0])
        mean = math.fsum(known) / len(known) if known else math.inf
        if has_several:
            cells.insert(1, Value(mean=mean, decimals=1))
        rows.append((mean, tuple(cells)))
    head = [Column("Segmenter", key="segmenter")]
    if has_several:
        head.append(Column("Mean rank", "number", "mean rank", "mean of the ranks", False))
    for data in groups:
        of = f" on {data}" if has_several else ""
        about = f"{statistic_definition(statistic, runs[0])}{of and f' Here{of}.'}"
        heading = data if has_several else statistic.name
        head.append(
            Column(heading, "interval", f"{statistic.name}{of}", about, statistic.higher_is_better)
        )
        head.append(Column("Rank", "interval", f"rank{of}", f"{RANK}{of}", higher_is_better=False))
    if has_several:
        topic = f"{statistic.name} and rank on each dataset"
    else:
        topic = f"Ranking by {statistic.name}"
    with_user = f" with {user}" if len(user_names(runs)) > 1 else ""
    return Sheet(
        name="ranks",
        caption=f"{topic}{with_user}; below a rank, the range of ranks that is consistent with the paired tests.",
        head=tuple(head),
        rows=tuple(row for _, row in sorted(rows, key=lambda row: row[0])),
    )


def pairs_sheet(runs: Sequence[Run], statistic: Statistic) -> Sheet:
    """Tabulate the lead of the run with the better mean for each dataset and pair of runs."""
    user = best_user(runs, statistic)
    columns = run_column_names(runs)
    names = {run.label: columns[run] for run in runs}
    rows: list[tuple[Cell, ...]] = []
    for data, group in by_data(runs).items():
        for standing in standings(group, user, statistic):
            for label, lead in standing.leads.items():
                p_value = standing.adjusted[label]
                row = (
                    data,
                    columns[standing.run],
                    names[label],
                    _lead_value(statistic, lead, p_value),
                    _p_value_cell(lead.p_value),
                    _p_value_cell(p_value),
                    lead.n,
                    lead.clusters,
                )
                rows.append(row)
    return Sheet(
        name="pairs",
        caption=f"Every pair of runs, with the lead of the better one in {statistic.name}.",
        head=(
            Column("Dataset", key="dataset"),
            Column("Ahead", key="ahead"),
            Column("Behind", key="behind"),
            Column("By", "interval", "by"),
            Column("p", "number", "p_value"),
            Column("p, all pairs", "number", "p_all_pairs"),
            Column("Targets", "number", "targets"),
            Column("Independent", "number", "independent"),
        ),
        rows=tuple(rows),
        notes=(
            "Bold: p ≤ 0.05 with all pairs of a dataset tested together and equal weight for each sample.",
        ),
    )


def _lead_value(
    statistic: Statistic,
    lead: PairedDifference,
    p_value: float,
) -> Value:
    """Build a cell with the lead of one run over another, marked if `p_value` is significant."""
    mark: CellMark = ""
    # NaN fails this comparison, so a lead without a p-value gets no mark.
    if p_value <= SIGNIFICANCE_LEVEL:
        mark = "better" if lead.difference > 0 else "worse"
    return Value(
        mean=lead.difference,
        low=lead.low,
        high=lead.high,
        printed=difference_text(statistic, lead),
        printed_bounds=difference_bounds_text(statistic, lead),
        mark=mark,
    )


def _p_value_cell(p_value: float) -> Value:
    return Value(mean=p_value, printed=p_value_text(p_value).removeprefix("p = "))


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
