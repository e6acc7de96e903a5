"""Data series of charts: their labels and colours, and the layout of charts in a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from segarena.benchmark_rules import Statistic
from segarena.reports.charts import ChartColour
from segarena.reports.html_document import macros
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import summary_metrics, user_names

MAX_NARROW_LABEL = 14
"""Longest curve label, in characters, that fits into a narrow chart (three or more per row)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure with one or several charts.

    Attributes:
        title, caption: text below the figure.
        charts: heading ("" for none) and SVG of each chart.
        is_wide: whether the figure spans the full width of the page.
    """

    title: str
    caption: str
    charts: Sequence[tuple[str, str]]
    is_wide: bool

    @property
    def html(self) -> str:
        """The charts side by side."""
        return str(macros("segarena.reports", "charts.html").panels(self.charts))


@dataclass(frozen=True, slots=True)
class Series:
    """One run with one user, and its colour in every figure.

    `is_floor` marks a floor baseline; see `segarena.reports.baselines`.
    """

    label: str
    colour: ChartColour
    run: Run
    user: str
    is_floor: bool = False


def series_by_user(runs: Sequence[Run]) -> list[tuple[str, list[Series]]]:
    """Return (heading, series) for each user and dataset; runs without a finished dialogue are omitted.

    With a single run, colours distinguish users; with several, they distinguish runs.
    """
    panels: list[tuple[str, list[Series]]] = []
    datasets = dict.fromkeys(run.data for run in runs)
    has_several_datasets = len(datasets) > 1
    columns = run_column_names(runs)
    colours = colour_numbers(runs)
    users = user_names(runs)
    for (user_number, user), data in product(enumerate(users), datasets):
        series: list[Series] = []
        for run, colour in zip(runs, colours, strict=True):
            if run.data != data or not run.finished(user):
                continue
            label = columns[run] if has_several_datasets else run.label
            series.append(Series(label, colour, run, user))
        if len(runs) == 1:
            series = [replace(one, label=user, colour=user_number) for one in series]
        if not series:
            continue
        if not has_several_datasets:
            heading = user
        elif len(users) == 1:
            heading = data
        else:
            heading = f"{user}, {data}"
        panels.append((heading, series))
    return panels


def run_column_names(runs: Sequence[Run]) -> dict[Run, str]:
    """Return the name of each run for tables that also have a dataset column.

    This is the segmenter; if any segmenter ran twice on the same data, it is the label of the run.
    """
    if _has_repeated_segmenter(runs):
        return {run: run.label for run in runs}
    return {run: run.segmenter for run in runs}


def _has_repeated_segmenter(runs: Sequence[Run]) -> bool:
    return len({(run.segmenter, run.data) for run in runs}) < len(runs)


def colour_numbers(runs: Sequence[Run]) -> list[int]:
    """Return the colour index of each run, which is the same on the whole page.

    Runs of one segmenter share a colour. If any segmenter ran twice on the same data, each run has
    its own.
    """
    if _has_repeated_segmenter(runs):
        return list(range(len(runs)))
    names = list(dict.fromkeys(run.segmenter for run in runs))
    return [names.index(run.segmenter) for run in runs]


def segmenter_colours(runs: Sequence[Run]) -> dict[str, int]:
    """Return the colour of each segmenter in figures that combine its runs: the colour of its first run."""
    coloured = list(zip(runs, colour_numbers(runs), strict=True))
    # Iterate backwards, so that the first run of a segmenter overwrites the later ones.
    return {run.segmenter: colour for run, colour in reversed(coloured)}


def labelled_colours(runs: Sequence[Run]) -> list[tuple[str, int]]:
    """Return (label, colour) of each run; empty for a single run, which needs no legend."""
    if len(runs) < 2:
        return []
    return [(run.label, colour) for run, colour in zip(runs, colour_numbers(runs), strict=True)]


def round_word(runs: Sequence[Run]) -> str:
    """Return "click" if all prompts of all runs are clicks, else "round"."""
    return "click" if all(run.kinds <= {"click"} for run in runs) else "round"


def area_statistic(run: Run) -> Statistic:
    """Return the area under the curve (AuC) of the first metric, by which targets are ranked.

    If the summary contains an AuC of this metric, that one is returned.
    """
    metric = summary_metrics(run)[0]
    for statistic in run.summary:
        if statistic.kind == "auc" and statistic.metric == metric:
            return statistic
    return Statistic(name="AuC", kind="auc", metric=metric)


def chart_size_px(
    panels: int,
    height: float,
    longest: int = 0,
) -> tuple[float, float]:
    """Return width and height of each of `panels` charts in a figure; text has the same size in all charts.

    `longest` is the length of the longest curve label. Labels of more than 14 characters would
    leave too little room in a narrow chart, so the chart stays wide.
    """
    if panels < 3 or longest > MAX_NARROW_LABEL:
        return (540.0, height)
    return (350.0, height * 0.75)


def make_figure(
    title: str,
    caption: str,
    charts: Sequence[tuple[str, str]],
) -> Figure | None:
    """Build a figure from (heading, SVG) pairs, without empty charts; None if all are empty."""
    shown: list[tuple[str, str]] = []
    for heading, chart in charts:
        if chart:
            shown.append((heading, chart))
    if not shown:
        return None
    return Figure(
        title=title,
        caption=caption,
        charts=shown,
        is_wide=len(shown) > 1,
    )
