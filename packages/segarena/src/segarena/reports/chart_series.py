"""What the figures have in common: who is drawn in which colour, and how charts stand together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from segarena.reports.charts import ChartColour
from segarena.reports.html_document import macros
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import summary_metrics, user_names
from segarena.roles import Statistic

MAX_NARROW_LABEL = 14
"""Characters of a name that leave enough room in a chart beside two others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A finished figure.

    Attributes:
        title, caption: below it.
        charts: each with its heading, "" for none, and its SVG.
        is_wide: whether it needs the whole width.
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
    """One run with one user, and the colour that it has in every figure; for a floor see `segarena.reports.baselines`."""

    label: str
    colour: ChartColour
    run: Run
    user: str
    is_floor: bool = False


def series_by_user(runs: Sequence[Run]) -> list[tuple[str, list[Series]]]:
    """Return (what stands above, its series) for each user and dataset: one series per run that finished something.

    With one run the colour tells the user, with several it tells the run.
    """
    panels: list[tuple[str, list[Series]]] = []
    datasets = dict.fromkeys(run.data for run in runs)
    columns = run_column_names(runs)
    users = user_names(runs)
    for (place, user), data in product(enumerate(users), datasets):
        coloured = zip(runs, colour_numbers(runs), strict=True)
        series = [
            Series(columns[run] if len(datasets) > 1 else run.label, colour, run, user)
            for run, colour in coloured
            if run.data == data and run.finished(user)
        ]
        if len(runs) == 1:
            series = [replace(one, label=user, colour=place) for one in series]
        if series:
            of_data = [data] if len(datasets) > 1 else []
            panels.append(
                (", ".join([*([] if of_data and len(users) == 1 else [user]), *of_data]), series)
            )
    return panels


def run_column_names(runs: Sequence[Run]) -> dict[Run, str]:
    """Return what each run is called beside its dataset: its segmenter, or its label where a segmenter ran twice."""
    is_once = len({(run.segmenter, run.data) for run in runs}) == len(runs)
    return {run: run.segmenter if is_once else run.label for run in runs}


def colour_numbers(runs: Sequence[Run]) -> list[int]:
    """Return each run's colour on the whole page: its segmenter's; its own where one ran twice on some data."""
    if len({(run.segmenter, run.data) for run in runs}) < len(runs):
        return list(range(len(runs)))
    names = list(dict.fromkeys(run.segmenter for run in runs))
    return [names.index(run.segmenter) for run in runs]


def segmenter_colours(runs: Sequence[Run]) -> dict[str, int]:
    """Return the colour of each segmenter, in figures that take its runs together: that of its first run."""
    coloured = list(zip(runs, colour_numbers(runs), strict=True))
    return {run.segmenter: colour for run, colour in reversed(coloured)}


def labelled_colours(runs: Sequence[Run]) -> list[tuple[str, int]]:
    """Return what runs are called and their colours; nothing to tell apart with one."""
    if len(runs) > 1:
        return [(run.label, colour) for run, colour in zip(runs, colour_numbers(runs), strict=True)]
    return []


def round_word(runs: Sequence[Run]) -> str:
    """Return "click" where nothing else was given, "round" otherwise."""
    return "click" if all(run.kinds <= {"click"} for run in runs) else "round"


def area_statistic(run: Run) -> Statistic:
    """Return the AuC that targets are ranked by: the summary's, or that of its first metric."""
    metric = summary_metrics(run)[0]
    found = (s for s in run.summary if s.kind == "auc" and s.metric == metric)
    return next(found, Statistic(name="AuC", kind="auc", metric=metric))


def chart_size_px(panels: int, height: float, longest: int = 0) -> tuple[float, float]:
    """Return width and height of a chart that stands beside `panels` - 1 others; letters look alike in all.

    Names of more than 14 characters, the `longest` of a curve, leave too little of a narrow chart.
    """
    if panels < 3 or longest > MAX_NARROW_LABEL:
        return (540.0, height)
    return (350.0, height * 0.75)


def make_figure(title: str, caption: str, charts: Sequence[tuple[str, str]]) -> Figure | None:
    """Return (heading, chart) pairs side by side; None when no chart has anything in it."""
    shown = [(heading, chart) for heading, chart in charts if chart]
    if shown:
        return Figure(title=title, caption=caption, charts=shown, is_wide=len(shown) > 1)
    return None
