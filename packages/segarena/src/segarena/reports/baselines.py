"""Floor baselines: runs of control segmenters that ignore the image.

Other runs must beat the floors; floors are excluded from rankings and verdicts.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from segarena.plugin_capabilities import ignores_image
from segarena.registry import lookup
from segarena.reports.chart_series import Series
from segarena.reports.charts import DASH_COUNT
from segarena.reports.recorded_run import Run

FLOOR_NOTE = "Thin grey lines: controls that ignore the image."
"""Note below charts that show floors."""


def floors_of(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Return the runs of controls that ignore the image; none if all runs are such controls."""
    floors: list[Run] = []
    for run in runs:
        segmenter = lookup("segmenter", run.config.segmenter.name)
        if ignores_image(segmenter):
            floors.append(run)
    if len(floors) == len(runs):
        # A report that contains only controls compares them like any other runs.
        return ()
    return tuple(floors)


def floor_text(floors: Sequence[Run]) -> str:
    """Explain what floors are; empty if there are none."""
    if not floors:
        return ""
    descriptions: dict[str, str] = {}
    for run in floors:
        docstring = inspect.getdoc(lookup("segmenter", run.config.segmenter.name)) or ""
        first_line = docstring.partition("\n")[0]
        topic = first_line.partition(":")[0].removesuffix(".")
        descriptions[run.segmenter] = run.segmenter
        if topic:
            descriptions[run.segmenter] = f"{run.segmenter}, {topic[:1].lower()}{topic[1:]}"
    named = "; ".join(descriptions.values())
    return (
        "Controls that a model must beat to show that it has learnt anything from the image; "
        f"thin lines in charts, not ranked: {named}."
    )


def with_floors(
    panels: Sequence[tuple[str, Sequence[Series]]], floors: Sequence[Run]
) -> list[tuple[str, list[Series]]]:
    """Append to each panel of a figure the floors on its data, once for each of its users."""
    extended: list[tuple[str, list[Series]]] = []
    for name, group in panels:
        users = dict.fromkeys(series.user for series in group)
        data = group[0].run.data
        series = list(group)
        for number, run in enumerate(floors):
            if run.data != data:
                continue
            for user in users:
                if not run.finished(user):
                    continue
                label = f"{run.segmenter}, {user}" if len(users) > 1 else run.segmenter
                series.append(Series(label, floor_colour(number), run, user, is_floor=True))
        extended.append((name, series))
    return extended


def floor_colour(place: int) -> str:
    """Return the colour of a floor: grey, with a distinct dash pattern."""
    return f"floor d{place % DASH_COUNT}"
