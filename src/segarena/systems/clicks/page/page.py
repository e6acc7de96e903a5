"""The sections that a page of rclicks runs has before all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from segarena.reports.reading import Run
from segarena.reports.series import Figure
from segarena.systems.clicks.page.figures import correlation_figure, group_curves, group_legend, hardness_scatter
from segarena.systems.clicks.page.heat import heat_key
from segarena.systems.clicks.page.numbers import correlations, first_rows, group_rows, hardness_of
from segarena.systems.clicks.page.pictures import robustness_pictures
from segarena.systems.clicks.page.tables import first_table, group_table
from segarena.systems.clicks.page.wording import (
    FIRST_NOTES,
    GROUP_NOTES,
    left_out_text,
    missing_texts,
    mode_text,
    without_text,
)

Section = tuple[str, str, str]
"""Anchor, title, HTML."""


def robustness_sections(
    runs: Sequence[Run], table: Callable[[str, str], str], figure: Callable[[Figure], str]
) -> list[Section]:
    """Return the sections; `table` and `figure` number what they are given."""
    hard = hardness_of(runs)
    pictures, problems = robustness_pictures(runs, hard)
    matrix, about = correlations(runs)
    rows = group_rows(runs)
    curves, scatter = group_curves(runs), hardness_scatter(hard)
    parts = {
        "robustness": [
            *(_note(text, css="lead") for text in dict.fromkeys(map(mode_text, runs))),
            *map(_note, missing_texts(runs)),
            table("Over the clicking groups.", group_table(runs)) if any(row.targets for row in rows) else "",
            _note(" ".join(filter(None, [GROUP_NOTES, left_out_text(rows, runs)]))),
            figure(curves) if curves else "",
        ],
        "first": [
            table("IoU after the first click.", first_table(runs)),
            _note(" ".join(filter(None, [FIRST_NOTES, without_text(first_rows(runs), runs)]))),
            figure(scatter) if scatter else "",
        ],
        "where": [_pictures_lead(runs[0]) if pictures else "", *map(_note, problems), pictures],
        "correlations": [figure(correlation_figure(matrix, about)) if matrix else _note(about)],
    }
    titles = ("Clicking groups", "First clicks", "Where people click", "Correlations")
    return [(anchor, title, "".join(parts[anchor])) for anchor, title in zip(parts, titles, strict=True)]


def _pictures_lead(run: Run) -> str:
    return (
        '<p class="lead">The targets whose result depends most on where the first click falls, then some where it '
        "hardly does. Clicks lie on the photograph with the density they have; mean masks show for each pixel the "
        "share of predictions that hold it. The target is outlined.</p>"
        f'<p class="keys">{heat_key("few clicks", "many clicks")}{heat_key("no prediction", "all predictions")}</p>'
        f"{group_legend(run, with_base=False)}"
    )


def _note(text: str, css: str = "note") -> str:
    return f'<p class="{css}">{escape(text)}</p>' if text else ""
