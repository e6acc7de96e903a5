"""What the figures have in common: who is drawn in which colour, and how charts stand together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from segarena.reports.reading import Run
from segarena.reports.rendering import macros
from segarena.reports.tables import metrics_of, user_names
from segarena.roles import Statistic


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
    """One run with one user, and the colour that it has in every figure."""

    label: str
    colour: int
    run: Run
    user: str


def series_by_user(runs: Sequence[Run]) -> list[tuple[str, list[Series]]]:
    """Return (user, its series): one series per run that has this user and finished something.

    With one run the colour tells the user, with several it tells the run.
    """
    panels: list[tuple[str, list[Series]]] = []
    for place, user in enumerate(user_names(runs)):
        coloured = zip(runs, colours_of(runs), strict=True)
        series = [Series(run.label, colour, run, user) for run, colour in coloured if run.finished(user)]
        if len(runs) == 1:
            series = [replace(one, label=user, colour=place) for one in series]
        if series:
            panels.append((user, series))
    return panels


def colours_of(runs: Sequence[Run]) -> list[int]:
    """Return each run's colour on the whole page: its segmenter's; its own where one ran twice on some data."""
    if len({(run.segmenter, run.data) for run in runs}) < len(runs):
        return list(range(len(runs)))
    names = list(dict.fromkeys(run.segmenter for run in runs))
    return [names.index(run.segmenter) for run in runs]


def segmenter_colours(runs: Sequence[Run]) -> dict[str, int]:
    """Return the colour of each segmenter, in figures that take its runs together: that of its first run."""
    coloured = list(zip(runs, colours_of(runs), strict=True))
    return {run.segmenter: colour for run, colour in reversed(coloured)}


def run_colours(runs: Sequence[Run]) -> list[tuple[str, int]]:
    """Return what runs are called and their colours; nothing to tell apart with one."""
    return [(run.label, colour) for run, colour in zip(runs, colours_of(runs), strict=True)] if len(runs) > 1 else []


def round_word(runs: Sequence[Run]) -> str:
    """Return "click" where nothing else was given, "round" otherwise."""
    return "click" if all(run.kinds <= {"click"} for run in runs) else "round"


def area_statistic(run: Run) -> Statistic:
    """Return the AuC that targets are ranked by: the summary's, or that of its first metric."""
    metric = metrics_of(run)[0]
    found = (s for s in run.summary if s.kind == "auc" and s.metric == metric)
    return next(found, Statistic(name="AuC", kind="auc", metric=metric))


def panel_px(panels: int, height: float) -> tuple[float, float]:
    """Return width and height of a chart that stands beside `panels` - 1 others; letters look alike in all."""
    return (540.0 if panels < 3 else 350.0, height if panels < 3 else height * 0.75)


def figure(title: str, caption: str, charts: Sequence[tuple[str, str]]) -> Figure | None:
    """Return (heading, chart) pairs side by side; None when no chart has anything in it."""
    shown = [(heading, chart) for heading, chart in charts if chart]
    return Figure(title=title, caption=caption, charts=shown, is_wide=len(shown) > 1) if shown else None
