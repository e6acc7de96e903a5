"""The figures of runs over volumes: quality against effort, and over rounds (RadioActive, Figures 5 to 7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product

import numpy as np
import polars as pl

from segarena.reports.axes import CHARACTER_PX, Frame, Scale, px
from segarena.reports.baselines import FLOOR_NOTE, floor_colour
from segarena.reports.chart_series import Figure, chart_size_px, make_figure, segmenter_colours
from segarena.reports.charts import (
    COLOUR_COUNT,
    ChartColour,
    Curve,
    colour_class,
    draw_legend,
    line_chart,
    marker,
)
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import user_names
from segarena.reports.sheets import Value
from segarena.reports.wording import metric_name
from segarena.systems.volumes.page.paper_tables import has_corrections
from segarena.systems.volumes.page.round_values import (
    average_common_targets,
    collect_round_values,
    list_participants,
    look_up_mean,
)

MOST_LABELS = 12
"""With more users and segmenters than this, each segmenter has a figure of its own."""


EFFORT_CAPTION = (
    "Across: the mean number of interactions actually spent on a target. Up: the mean over classes and datasets. "
    "Vertical bars are 95 % intervals over cases, horizontal ones span what the middle four fifths of targets took. "
    "Lines join the rounds of users who correct. Where a name does not fit, hover over the dot to see it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffortPoint:
    """How good someone is after a round, for how much."""

    effort: float  # mean interactions on a target
    # What the middle four fifths of targets took.
    low_effort: float
    high_effort: float
    quality: Value  # mean with its interval


def effort_points(
    runs: Sequence[Run], values: pl.DataFrame, metric: str
) -> dict[tuple[str, str], list[EffortPoint]]:
    """Return for each user and segmenter a point per round; a single one for users who correct nothing."""
    averages = [
        average_common_targets(values.filter(round=number), metric)
        for number in range(1, runs[0].rounds + 1)
    ]
    found: dict[tuple[str, str], list[EffortPoint]] = {}
    for user, segmenter in list_participants(runs):
        who = {"user": user, "segmenter": segmenter}
        count = runs[0].rounds if has_corrections(runs, user, segmenter) else 1
        points = [
            _point(values.filter(round=k + 1, **who), look_up_mean(averages[k], **who))
            for k in range(count)
        ]
        found[(user, segmenter)] = [point for point in points if math.isfinite(point.quality.mean)]
    return {who: points for who, points in found.items() if points}


def effort_figures(
    runs: Sequence[Run], values: pl.DataFrame, floors: Sequence[Run] = ()
) -> list[Figure]:
    """Return Dice and NSD against interactions; with many users several figures, all on the same scales."""
    every = {m: effort_points(runs, values, m) for m in ("dice", "nsd") if m in values.columns}
    below = {m: _floor_points(floors, m) for m in every}
    colours = _colours(runs)
    segmenters = segmenter_colours(runs)
    made: list[Figure | None] = []
    for name, part in group_participants(runs).items():
        there = dict.fromkeys(segmenter for _, segmenter in part)
        users = {user for user, _ in part}
        shown = {
            m: {who: points for who, points in of.items() if who[0] in users}
            for m, of in below.items()
        }
        greys = _floor_colours(floors)
        legend: list[tuple[str, ChartColour]] = [
            (segmenter, segmenters[segmenter]) for segmenter in there
        ]
        legend += list(greys.items()) if any(shown.values()) else []
        own = {who: colours[who] for who in part}
        charts: list[tuple[str, str]] = []
        for m, points in every.items():
            charts.append((metric_name(m), _effort_chart(points, m, own, legend, shown[m], greys)))
        caption = f"{EFFORT_CAPTION} {FLOOR_NOTE}" if any(shown.values()) else EFFORT_CAPTION
        made.append(make_figure(f"Quality against effort{name}", caption, charts))
    return [one for one in made if one is not None]


def rounds_figures(
    runs: Sequence[Run], values: pl.DataFrame, floors: Sequence[Run] = ()
) -> list[Figure]:
    """Return Dice over rounds: a chart for each user with several segmenters, else one for each first prompts.

    Nothing without corrections.
    """
    who = [pair for pair in list_participants(runs) if has_corrections(runs, *pair)]
    points = effort_points(runs, values, "dice") if who else {}
    colours = _colours(runs)
    is_one = len(segmenter_colours(runs)) == 1
    below = _floor_points(floors, "dice") if who else {}
    greys = _floor_colours(floors)
    panels: dict[str, list[tuple[str, str]]] = {}
    for user, segmenter in who:
        panels.setdefault(_opening(user) if is_one else user, []).append((user, segmenter))
    charts: list[tuple[str, str]] = []
    for name, pairs in panels.items():
        curves = [
            _curve(pair[0] if is_one else pair[1], colours[pair], points[pair]) for pair in pairs
        ]
        users = {user for user, _ in pairs}
        for (user, floor), series in below.items():
            if user in users:
                label = floor if len(users) == 1 else f"{floor}, {user}"
                curves.append(replace(_curve(label, greys[floor], series), is_floor=True))
        chart = line_chart(
            curves,
            title=f"Dice over rounds, {name}",
            x_label="round (1: first prompts)",
            y_label="mean Dice",
            size_px=chart_size_px(len(panels), 330),
        )
        charts.append((name if len(panels) > 1 else "", chart))
    caption = (
        "Mean Dice over classes and datasets after each round; bands are 95 % intervals over cases."
    )
    caption = f"{caption} {FLOOR_NOTE}" if below else caption
    made = make_figure("Refinement", caption, charts)
    return [] if made is None else [made]


def _floor_points(floors: Sequence[Run], metric: str) -> dict[tuple[str, str], list[EffortPoint]]:
    """Return the points of floors by user and segmenter; nothing of a metric that they were not judged by."""
    values = collect_round_values(floors)
    if floors and metric in values.columns:
        return effort_points(floors, values, metric)
    return {}


def _floor_colours(floors: Sequence[Run]) -> dict[str, ChartColour]:
    return {
        segmenter: floor_colour(place)
        for place, segmenter in enumerate(dict.fromkeys(f.segmenter for f in floors))
    }


def group_participants(runs: Sequence[Run]) -> dict[str, list[tuple[str, str]]]:
    """Return who stands in which figure: all in one, or one per segmenter, or one per first prompts."""
    who = list_participants(runs)
    segmenters = dict.fromkeys(segmenter for _, segmenter in who)
    if len(who) > MOST_LABELS and len(segmenters) > 1:
        return _grouped(who, [segmenter for _, segmenter in who])
    openings = [_opening(user) for user, _ in who]
    if len(who) > COLOUR_COUNT and 1 < len(set(openings)) < len({user for user, _ in who}):
        return _grouped(who, openings)
    return {"": who}


def _grouped(
    who: Sequence[tuple[str, str]], names: Sequence[str]
) -> dict[str, list[tuple[str, str]]]:
    """Return those of each name, in the order of the names."""
    found: dict[str, list[tuple[str, str]]] = {}
    for pair, name in zip(who, names, strict=True):
        found.setdefault(f", {name}", []).append(pair)
    return found


def _opening(user: str) -> str:
    return user.partition(".")[0]


def _colours(runs: Sequence[Run]) -> dict[tuple[str, str], int]:
    """Return a colour per segmenter; of one segmenter, per user."""
    segmenters = segmenter_colours(runs)
    if len(segmenters) > 1:
        return {pair: segmenters[pair[1]] for pair in list_participants(runs)}
    users = user_names(runs)
    return {pair: users.index(pair[0]) for pair in list_participants(runs)}


def _point(values: pl.DataFrame, quality: Value) -> EffortPoint:
    spent = values["effort"].drop_nulls().to_numpy()
    if not len(spent):
        return EffortPoint(
            effort=math.nan, low_effort=math.nan, high_effort=math.nan, quality=Value(mean=math.nan)
        )
    low, high = np.quantile(spent, [0.1, 0.9])
    return EffortPoint(
        effort=float(spent.mean()), low_effort=float(low), high_effort=float(high), quality=quality
    )


def _curve(label: str, colour: ChartColour, points: Sequence[EffortPoint]) -> Curve:
    return Curve(
        label=label,
        colour=colour,
        x=range(1, len(points) + 1),
        y=[point.quality.mean for point in points],
        low=[point.quality.low for point in points],
        high=[point.quality.high for point in points],
    )


def _effort_chart(
    points: Mapping[tuple[str, str], Sequence[EffortPoint]],
    metric: str,
    colours: Mapping[tuple[str, str], int],
    legend: Sequence[tuple[str, ChartColour]],
    floors: Mapping[tuple[str, str], Sequence[EffortPoint]],
    greys: Mapping[str, ChartColour],
) -> str:
    """Return the points of those who have a colour, and of floors, on scales that fit everyone."""
    every = list(chain(*points.values(), *floors.values()))
    if not every:
        return ""
    frame = Frame(540, 400, f"{metric_name(metric)} against interactions", right=24)
    draw_legend(frame, legend)
    low = min(p.low_effort for p in every)
    high = max(p.high_effort for p in every)
    is_log = (
        low > 0 and high / low > 6
    )  # from one point to many per slice, cheap schemes would lie on each other
    x_scale = frame.x_scale(
        low / 1.15 if is_log else low - 1, high * 1.15 if is_log else high + 1, is_log=is_log
    )
    y_scale = frame.y_scale(*_tenths([p.quality for p in every]))
    frame.y_axis(y_scale, f"mean {metric_name(metric)}")
    frame.x_axis(x_scale, "mean interactions on a target" + (" (logarithmic)" if is_log else ""))
    labels = _Labels(frame)
    shown = {who: series for who, series in points.items() if who in colours}
    for (user, floor), series in floors.items():
        places = [(x_scale(point.effort), y_scale(point.quality.mean)) for point in series]
        frame.path(places, f"curve {colour_class(greys[floor])}")
        for place in places:
            frame.draw(marker(*place, greys[floor], 1.6, f"{user} {floor}"))
    for who, series in shown.items():
        _draw_series(frame, x_scale, y_scale, series, colours[who], who[0])
        labels.block([(x_scale(p.effort), y_scale(p.quality.mean)) for p in series])
    for who, series in shown.items():
        x = x_scale(series[-1].effort)
        y = y_scale(series[-1].quality.mean)
        labels.write(x, y, who[0], colour_class(colours[who]))
    return frame.svg() if shown else ""


def _tenths(values: Sequence[Value]) -> tuple[float, float]:
    """Return the range of the axis: whole tenths around all means and intervals."""
    ends = list(filter(math.isfinite, chain.from_iterable((v.mean, v.low, v.high) for v in values)))
    return max(0.0, math.floor(10 * min(ends) - 0.2) / 10), min(
        1.0, math.ceil(10 * max(ends) + 0.2) / 10
    )


def _draw_series(
    frame: Frame,
    x_scale: Scale,
    y_scale: Scale,
    series: Sequence[EffortPoint],
    colour: int,
    name: str,
) -> None:
    css = colour_class(colour)
    places = [(x_scale(point.effort), y_scale(point.quality.mean)) for point in series]
    if len(places) > 1:
        path = "M" + "L".join(f"{px(x)} {px(y)}" for x, y in places)
        frame.draw(f'<path d="{path}" class="curve {css}"/>')
    for point, (x, y) in zip(series, places, strict=True):
        if math.isfinite(point.quality.low):
            frame.line(
                x, y_scale(point.quality.low), x, y_scale(point.quality.high), f"whisker thin {css}"
            )
        frame.draw(marker(x, y, colour, 4, name))
    last = series[-1]
    if last.high_effort > last.low_effort:
        x, y = places[-1]
        frame.line(
            x_scale(last.low_effort), y, x_scale(last.high_effort), y, f"whisker faint {css}"
        )


class _Labels:
    """Writes names beside points where nothing is yet."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._taken: list[tuple[float, float, float, float]] = []

    def block(self, places: Sequence[tuple[float, float]]) -> None:
        self._taken += [(x - 5, y - 5, x + 5, y + 5) for x, y in places]

    def write(self, x: float, y: float, text: str, css: str) -> None:
        width = len(text) * CHARACTER_PX
        # To the right before the left, and as near to the height of the point as there is room.
        tries = (
            (x + side, y - 4 + rise) for rise, side in product((0, 9, 18, -9), (7, -7 - width))
        )
        place = next((place for place in tries if self._is_free(*place, width)), None)
        if place is None:
            return
        left, base = place
        self._taken.append((left, base - 11, left + width, base + 2))
        self._frame.text(left, base, text, css=f"end {css}")

    def _is_free(self, left: float, base: float, width: float) -> bool:
        top = base - 11
        right = left + width
        bottom = base + 2
        inside = (
            left > self._frame.left and right < self._frame.width_px and top > self._frame.top - 10
        )
        in_plot = bottom < self._frame.height_px - self._frame.bottom
        apart = all(right < a or left > c or bottom < b or top > d for a, b, c, d in self._taken)
        return inside and in_plot and apart
