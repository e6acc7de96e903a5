"""Floors: runs of controls that look at no image. Others must beat them; they take no part in rankings and verdicts."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from segarena.abilities import ignores_image
from segarena.registry import known
from segarena.reports.chart_series import Series
from segarena.reports.charts import DASH_COUNT
from segarena.reports.recorded_run import Run

FLOOR_NOTE = "Thin and grey: controls that look at no image."
"""Below charts that have any."""


def floors_of(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Return the runs of controls that look at no image; none where nobody else is there to beat them."""
    floors = tuple(
        run for run in runs if ignores_image(known("segmenter", run.config.segmenter.name))
    )
    return floors if len(floors) < len(runs) else ()


def floor_text(floors: Sequence[Run]) -> str:
    """Say what the floors are and what they mean; nothing without any."""
    if not floors:
        return ""
    told: dict[str, str] = {}
    for run in floors:
        about = (inspect.getdoc(known("segmenter", run.config.segmenter.name)) or "").partition(
            "\n"
        )[0]
        what = about.partition(":")[0].removesuffix(".")
        told[run.segmenter] = (
            f"{run.segmenter}, {what[:1].lower()}{what[1:]}" if what else run.segmenter
        )
    named = "; ".join(told.values())
    return f"What models must beat to have learnt anything from pictures; thin lines in charts, not ranked: {named}."


def with_floors(
    panels: Sequence[tuple[str, Sequence[Series]]], floors: Sequence[Run]
) -> list[tuple[str, list[Series]]]:
    """Return the panels of a figure, each with the floors on its data with its users behind the others."""
    found: list[tuple[str, list[Series]]] = []
    for name, group in panels:
        users = dict.fromkeys(series.user for series in group)
        own = [
            Series(
                f"{run.segmenter}, {user}" if len(users) > 1 else run.segmenter,
                floor_colour(place),
                run,
                user,
                True,
            )
            for place, run in enumerate(floors)
            for user in users
            if run.data == group[0].run.data and run.finished(user)
        ]
        found.append((name, [*group, *own]))
    return found


def floor_colour(place: int) -> str:
    """Return the colour of a floor: grey, each with a dash of its own."""
    return f"floor d{place % DASH_COUNT}"
