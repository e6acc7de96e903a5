"""How far simulated people are from each other: users whose repeats are people of one crowd."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from segarena.reports.chart_series import run_column_names
from segarena.reports.page_parts import Note, Part
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import image_clusters, user_names
from segarena.reports.sheets import Cell, Column, Sheet, Value
from segarena.reports.wording import value_text
from segarena.roles import Statistic
from segarena.statistics.between import between_units
from segarena.statistics.over_rounds import statistic_values

_NOTE = (
    "Of a crowd each repeat of a dialogue is with another person, the same for all targets. Between people: the "
    "standard deviation of the means that single people come to, less what chance over targets adds to it, with its "
    "95 % interval over images; and the lowest and highest of these means. The summary's interval says how sure the "
    "mean over targets is; this says how much it matters who prompts."
)


def person_variation_parts(runs: Sequence[Run]) -> list[Part]:
    """Return the table of what lies between people; nothing where no user is a crowd."""
    sheet = person_variation_sheet(runs)
    return [sheet, Note(_NOTE)] if sheet.rows else []


def crowd_sizes(run: Run) -> Mapping[str, int]:
    """Return how many people each user of a run is, where that is more than one, by the user's name."""
    told = {user.written: user.options.get("people", 1) for user in run.config.users}
    return {name: people for name, people in told.items() if isinstance(people, int) and people > 1}


def person_variation_sheet(runs: Sequence[Run]) -> Sheet:
    """Return a row per user who is a crowd and run, with what lies between its people in each statistic."""
    rows: list[tuple[Cell, ...]] = []
    columns = run_column_names(runs)
    summary = runs[0].summary
    for user in user_names(runs):
        for run in runs:
            people = crowd_sizes(run).get(user)
            if people is not None and run.finished(user):
                cells = [_cell(run, user, statistic, people) for statistic in summary]
                rows.append((user, run.data, columns[run], people, *cells))
    head = (
        "User",
        "Dataset",
        "Segmenter",
        Column("People", "number"),
        *(Column(one.name, "interval", key=f"{one.name} between people") for one in summary),
    )
    return Sheet(
        name="between-people",
        caption="How much it matters who prompts.",
        head=head,
        rows=tuple(rows),
    )


def _cell(run: Run, user: str, statistic: Statistic, people: int) -> Cell:
    table, clusters = _by_person(run, user, statistic, people)
    found = between_units(table, clusters)
    if math.isnan(found.deviation):
        return "–"
    ends = [value_text(statistic, one) for one in (found.low, found.high)]
    means = [value_text(statistic, one) for one in (found.least, found.most)]
    bounds = f"{ends[0]} to {ends[1]}; " if math.isfinite(found.low) else ""
    return Value(
        mean=found.deviation,
        low=found.low,
        high=found.high,
        printed=value_text(statistic, found.deviation),
        printed_bounds=f"{bounds}people {means[0]} to {means[1]}",
    )


def _by_person(
    run: Run, user: str, statistic: Statistic, people: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the statistic of each target with each person, (targets, people), NaN where there is none; the images."""
    dialogues, curves = run.curves(user, statistic.metric)
    if not dialogues:
        return np.empty((0, people)), np.empty(0, dtype=np.int64)
    values = statistic_values(statistic, curves, run.config.benchmark.options)
    keys = list(dict.fromkeys(dialogue.key[:2] for dialogue in dialogues))
    places = {key: place for place, key in enumerate(keys)}
    table = np.full((len(keys), people), np.nan)
    for dialogue, value in zip(dialogues, values.tolist(), strict=True):
        table[places[dialogue.key[:2]], dialogue.repeat % people] = value
    return table, image_clusters(keys)
