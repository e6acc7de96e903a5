"""Variation between simulated people, for crowd users, which simulate a different person in each repeat."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from segarena.benchmark_rules import Statistic
from segarena.reports.cells import Cell, Column, Value
from segarena.reports.chart_series import run_column_names
from segarena.reports.page_parts import Note, Part
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import image_clusters, user_names
from segarena.reports.sheets import Sheet
from segarena.reports.wording import value_text
from segarena.statistics.round_statistics import statistic_values
from segarena.statistics.variance_components import unit_variation

_NOTE = (
    "In a crowd, each repeat of a dialogue has a different person, and the people are the same for all targets. "
    "Between people: the standard deviation of the means of single people, corrected for chance over targets, with "
    "its 95 % interval over images, and the lowest and highest of these means. The interval in the summary shows how "
    "precise the mean over targets is; this table shows how much the result depends on the person."
)


def person_variation_parts(runs: Sequence[Run]) -> list[Part]:
    """Return the table of the variation between people, and a note; empty if no user is a crowd."""
    sheet = person_variation_sheet(runs)
    return [sheet, Note(_NOTE)] if sheet.rows else []


def crowd_sizes(run: Run) -> Mapping[str, int]:
    """Return the number of people by user name, for users that are crowds of several people."""
    sizes: dict[str, int] = {}
    for user in run.config.users:
        people = user.options.get("people", 1)
        if isinstance(people, int) and people > 1:
            sizes[user.written] = people
    return sizes


def person_variation_sheet(runs: Sequence[Run]) -> Sheet:
    """Tabulate the variation between the people of each crowd in each statistic, one row per crowd and run."""
    rows: list[tuple[Cell, ...]] = []
    columns = run_column_names(runs)
    summary = runs[0].summary
    for user in user_names(runs):
        for run in runs:
            people = crowd_sizes(run).get(user)
            if people is None or not run.finished(user):
                continue
            cells = [_cell(run, user, statistic, people) for statistic in summary]
            rows.append((user, run.data, columns[run], people, *cells))
    head = ["User", "Dataset", "Segmenter", Column("People", "number")]
    for statistic in summary:
        head.append(Column(statistic.name, "interval", key=f"{statistic.name} between people"))
    return Sheet(
        name="between-people",
        caption="Variation between people.",
        head=tuple(head),
        rows=tuple(rows),
    )


def _cell(
    run: Run,
    user: str,
    statistic: Statistic,
    people: int,
) -> Cell:
    table, clusters = _by_person(run, user, statistic, people)
    found = unit_variation(table, clusters)
    if math.isnan(found.deviation):
        return "–"
    bounds = ""
    if math.isfinite(found.low):
        bounds = f"{value_text(statistic, found.low)} to {value_text(statistic, found.high)}; "
    lowest = value_text(statistic, found.least)
    highest = value_text(statistic, found.most)
    return Value(
        mean=found.deviation,
        low=found.low,
        high=found.high,
        printed=value_text(statistic, found.deviation),
        printed_bounds=f"{bounds}people {lowest} to {highest}",
    )


def _by_person(
    run: Run,
    user: str,
    statistic: Statistic,
    people: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the statistic of each target with each person, and the index of each target's image.

    The values have shape (targets, people), with NaN for dialogues that did not finish. If a person
    repeats a target, the last repeat counts.
    """
    dialogues, curves = run.curves(user, statistic.metric)
    if not dialogues:
        return np.empty((0, people)), np.empty(0, dtype=np.int64)
    values = statistic_values(statistic, curves, run.config.benchmark.options)
    targets = [dialogue.key[:2] for dialogue in dialogues]
    keys = list(dict.fromkeys(targets))
    rows = {key: row for row, key in enumerate(keys)}
    table = np.full((len(keys), people), np.nan)
    for dialogue, target, value in zip(dialogues, targets, values.tolist(), strict=True):
        # Repeats cycle through the people of the crowd.
        table[rows[target], dialogue.repeat % people] = value
    return table, image_clusters(keys)
