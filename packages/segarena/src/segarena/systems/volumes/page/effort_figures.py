"""Figures for runs on volumes: quality against effort, and quality over rounds (RadioActive, Figures 5 to 7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product

import numpy as np
import polars as pl

from segarena.reports.axes import CHARACTER_PX, Frame, Scale, px
from segarena.reports.baselines import FLOOR_NOTE, floor_colour
from segarena.reports.cells import Value
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
from segarena.reports.display_names import metric_name
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import user_names
from segarena.systems.volumes.page.radioactive_tables import has_corrections
from segarena.systems.volumes.page.round_metric_values import (
    average_common_targets,
    collect_round_values,
    list_participants,
    look_up_mean,
)

MOST_LABELS = 12
"""With more curves (users times segmenters) than this, each segmenter has a separate figure."""


EFFORT_CAPTION = (
    "Horizontal axis: mean number of interactions actually spent on a target. Vertical axis: mean over classes and "
    "datasets. Vertical bars are 95 % intervals over cases, horizontal ones span the middle four fifths of targets. "
    "Lines join the rounds of users that correct. Where a name does not fit, hover over the dot to see it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffortPoint:
    """Quality after a round, and the effort spent so far."""

    effort: float  # mean interactions on a target
    # 10 % and 90 % quantiles of the number of interactions per target.
    low_effort: float
    high_effort: float
    quality: Value  # mean with its interval


def effort_points(
    runs: Sequence[Run],
    values: pl.DataFrame,
    metric: str,
) -> dict[tuple[str, str], list[EffortPoint]]:
    """Return one point per round for each user and segmenter; users without corrections have a single point.

    Rounds without a mean are left out, and so are users and segmenters without any point.
    """
    rounds = runs[0].rounds
    by_round = [values.filter(round=number) for number in range(1, rounds + 1)]
    averages = [average_common_targets(of_round, metric) for of_round in by_round]
    series: dict[tuple[str, str], list[EffortPoint]] = {}
    for user, segmenter in list_participants(runs):
        participant = {"user": user, "segmenter": segmenter}
        # Without corrections, later rounds only repeat the first.
        count = rounds if has_corrections(runs, user, segmenter) else 1
        points: list[EffortPoint] = []
        for of_round, average in zip(by_round[:count], averages[:count], strict=True):
            quality = look_up_mean(average, **participant)
            point = _effort_point(of_round.filter(**participant), quality)
            if math.isfinite(point.quality.mean):
                points.append(point)
        if points:
            series[(user, segmenter)] = points
    return series


def effort_figures(
    runs: Sequence[Run],
    values: pl.DataFrame,
    floors: Sequence[Run] = (),
) -> list[Figure]:
    """Return Dice and NSD against interactions; with many curves, several figures with the same scales."""
    metrics = [metric for metric in ("dice", "nsd") if metric in values.columns]
    points = {metric: effort_points(runs, values, metric) for metric in metrics}
    floor_points = {metric: _floor_points(floors, metric) for metric in metrics}
    colours = _participant_colours(runs)
    floor_colours = _floor_colours(floors)
    figures: list[Figure | None] = []
    for name, participants in group_participants(runs).items():
        users = {user for user, _ in participants}
        shown_floors: dict[str, dict[tuple[str, str], list[EffortPoint]]] = {}
        for metric in metrics:
            shown_floors[metric] = _select_users(floor_points[metric], users)
        has_floors = any(shown_floors.values())
        legend = _segmenter_legend(runs, participants)
        if has_floors:
            legend += list(floor_colours.items())
        own_colours = {pair: colours[pair] for pair in participants}
        charts: list[tuple[str, str]] = []
        for metric in metrics:
            chart = _effort_chart(
                points[metric], metric, own_colours, legend, shown_floors[metric], floor_colours
            )
            charts.append((metric_name(metric), chart))
        caption = f"{EFFORT_CAPTION} {FLOOR_NOTE}" if has_floors else EFFORT_CAPTION
        figures.append(make_figure(f"Quality against effort{name}", caption, charts))
    return [figure for figure in figures if figure is not None]


def _select_users(
    series: Mapping[tuple[str, str], list[EffortPoint]], users: set[str]
) -> dict[tuple[str, str], list[EffortPoint]]:
    return {pair: points for pair, points in series.items() if pair[0] in users}


def _segmenter_legend(
    runs: Sequence[Run], participants: Sequence[tuple[str, str]]
) -> list[tuple[str, ChartColour]]:
    colours = segmenter_colours(runs)
    segmenters = dict.fromkeys(segmenter for _, segmenter in participants)
    return [(segmenter, colours[segmenter]) for segmenter in segmenters]


def rounds_figures(
    runs: Sequence[Run],
    values: pl.DataFrame,
    floors: Sequence[Run] = (),
) -> list[Figure]:
    """Return a figure of Dice over rounds; without corrections, the list is empty.

    It has one chart per user if there are several segmenters, otherwise one per initial scheme.
    """
    participants = [pair for pair in list_participants(runs) if has_corrections(runs, *pair)]
    points: dict[tuple[str, str], list[EffortPoint]] = {}
    floor_points: dict[tuple[str, str], list[EffortPoint]] = {}
    if participants:
        points = effort_points(runs, values, "dice")
        floor_points = _floor_points(floors, "dice")
    colours = _participant_colours(runs)
    has_one_segmenter = len(segmenter_colours(runs)) == 1
    panels: dict[str, list[tuple[str, str]]] = {}
    for user, segmenter in participants:
        title = _first_prompts(user) if has_one_segmenter else user
        panels.setdefault(title, []).append((user, segmenter))
    charts: list[tuple[str, str]] = []
    for name, pairs in panels.items():
        curves: list[Curve] = []
        for user, segmenter in pairs:
            label = user if has_one_segmenter else segmenter
            pair = (user, segmenter)
            if pair in points:
                curves.append(_curve(label, colours[pair], points[pair]))
        curves += _floor_curves({user for user, _ in pairs}, floor_points, _floor_colours(floors))
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
    if floor_points:
        caption = f"{caption} {FLOOR_NOTE}"
    figure = make_figure("Refinement", caption, charts)
    return [] if figure is None else [figure]


def _floor_curves(
    users: set[str],
    floor_points: Mapping[tuple[str, str], Sequence[EffortPoint]],
    floor_colours: Mapping[str, ChartColour],
) -> list[Curve]:
    curves: list[Curve] = []
    for (user, floor), series in floor_points.items():
        if user in users:
            label = floor if len(users) == 1 else f"{floor}, {user}"
            curve = _curve(label, floor_colours[floor], series)
            curves.append(replace(curve, is_floor=True))
    return curves


def _floor_points(floors: Sequence[Run], metric: str) -> dict[tuple[str, str], list[EffortPoint]]:
    """Return the points of control segmenters by user and segmenter; empty for a metric that they lack."""
    values = collect_round_values(floors)
    if floors and metric in values.columns:
        return effort_points(floors, values, metric)
    return {}


def _floor_colours(floors: Sequence[Run]) -> dict[str, ChartColour]:
    segmenters = dict.fromkeys(run.segmenter for run in floors)
    return {segmenter: floor_colour(index) for index, segmenter in enumerate(segmenters)}


def group_participants(runs: Sequence[Run]) -> dict[str, list[tuple[str, str]]]:
    """Return the participants of each figure: all in one figure, or one figure per segmenter or initial scheme."""
    participants = list_participants(runs)
    segmenters = [segmenter for _, segmenter in participants]
    if len(participants) > MOST_LABELS and len(set(segmenters)) > 1:
        return _group_by_name(participants, segmenters)
    first_prompts = [_first_prompts(user) for user, _ in participants]
    users = {user for user, _ in participants}
    # Neither a single group for all nor one group per user would make the figures smaller.
    if len(participants) > COLOUR_COUNT and 1 < len(set(first_prompts)) < len(users):
        return _group_by_name(participants, first_prompts)
    return {"": participants}


def _group_by_name(
    participants: Sequence[tuple[str, str]], names: Sequence[str]
) -> dict[str, list[tuple[str, str]]]:
    """Return the participants, grouped by the ending of the figure title (", NAME"), in order of the names."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for pair, name in zip(participants, names, strict=True):
        groups.setdefault(f", {name}", []).append(pair)
    return groups


def _first_prompts(user: str) -> str:
    """Return the initial scheme, with which a user's name begins: "3b-inter" for "3b-inter.scribble"."""
    return user.partition(".")[0]


def _participant_colours(runs: Sequence[Run]) -> dict[tuple[str, str], int]:
    """Return the colour of each participant: one per segmenter, or one per user if there is one segmenter."""
    participants = list_participants(runs)
    segmenters = segmenter_colours(runs)
    if len(segmenters) > 1:
        return {pair: segmenters[pair[1]] for pair in participants}
    users = user_names(runs)
    return {pair: users.index(pair[0]) for pair in participants}


def _effort_point(values: pl.DataFrame, quality: Value) -> EffortPoint:
    efforts = values["effort"].drop_nulls().to_numpy()
    if not len(efforts):
        return EffortPoint(
            effort=math.nan,
            low_effort=math.nan,
            high_effort=math.nan,
            quality=Value(mean=math.nan),
        )
    low, high = np.quantile(efforts, [0.1, 0.9])
    return EffortPoint(
        effort=float(efforts.mean()),
        low_effort=float(low),
        high_effort=float(high),
        quality=quality,
    )


def _curve(
    label: str,
    colour: ChartColour,
    points: Sequence[EffortPoint],
) -> Curve:
    qualities = [point.quality for point in points]
    rounds = range(1, len(points) + 1)
    return Curve.from_intervals(label, colour, rounds, qualities)


def _effort_chart(
    points: Mapping[tuple[str, str], Sequence[EffortPoint]],
    metric: str,
    colours: Mapping[tuple[str, str], int],
    legend: Sequence[tuple[str, ChartColour]],
    floors: Mapping[tuple[str, str], Sequence[EffortPoint]],
    floor_colours: Mapping[str, ChartColour],
) -> str:
    """Return a chart of the participants in `colours` and of controls, on scales that fit all participants."""
    shown = {pair: series for pair, series in points.items() if pair in colours}
    if not shown:
        return ""
    frame = Frame(540, 400, f"{metric_name(metric)} against interactions", right=24)
    draw_legend(frame, legend)
    # All charts of a page share their scales, so that they can be compared.
    all_points = list(chain(*points.values(), *floors.values()))
    x_scale, x_label = _effort_scale(frame, all_points)
    y_scale = frame.y_scale(*_quality_range([point.quality for point in all_points]))
    frame.y_axis(y_scale, f"mean {metric_name(metric)}")
    frame.x_axis(x_scale, x_label)
    labels = _LabelPlacement(frame)
    for (user, floor), series in floors.items():
        places = _places(x_scale, y_scale, series)
        frame.path(places, f"curve {colour_class(floor_colours[floor])}")
        for place in places:
            frame.draw(marker(*place, floor_colours[floor], 1.6, f"{user} {floor}"))
    for (user, segmenter), series in shown.items():
        _draw_series(frame, x_scale, y_scale, series, colours[user, segmenter], user)
        labels.block(_places(x_scale, y_scale, series))
    for (user, segmenter), series in shown.items():
        x, y = _places(x_scale, y_scale, series)[-1]
        labels.write(x, y, user, colour_class(colours[user, segmenter]))
    return frame.svg()


def _effort_scale(frame: Frame, points: Sequence[EffortPoint]) -> tuple[Scale, str]:
    """Return the scale and the label of the interactions axis."""
    low = min(point.low_effort for point in points)
    high = max(point.high_effort for point in points)
    label = "mean interactions on a target"
    # The range is from one point per volume to many per slice, so on a linear scale cheap schemes
    # would overlap.
    if low > 0 and high / low > 6:
        return frame.x_scale(low / 1.15, high * 1.15, is_log=True), f"{label} (logarithmic)"
    return frame.x_scale(low - 1, high + 1), label


def _places(
    x_scale: Scale,
    y_scale: Scale,
    series: Sequence[EffortPoint],
) -> list[tuple[float, float]]:
    places: list[tuple[float, float]] = []
    for point in series:
        places.append((x_scale(point.effort), y_scale(point.quality.mean)))
    return places


def _quality_range(values: Sequence[Value]) -> tuple[float, float]:
    """Return the axis range, between multiples of 0.1: all means and intervals, with a margin of 0.02 within 0 to 1."""
    finite: list[float] = []
    for value in values:
        for end in (value.mean, value.low, value.high):
            if math.isfinite(end):
                finite.append(end)
    low = math.floor(10 * min(finite) - 0.2) / 10
    high = math.ceil(10 * max(finite) + 0.2) / 10
    # Scores lie between 0 and 1.
    return max(0.0, low), min(1.0, high)


def _draw_series(
    frame: Frame,
    x_scale: Scale,
    y_scale: Scale,
    series: Sequence[EffortPoint],
    colour: int,
    name: str,
) -> None:
    css = colour_class(colour)
    places = _places(x_scale, y_scale, series)
    if len(places) > 1:
        path = "M" + "L".join(f"{px(x)} {px(y)}" for x, y in places)
        frame.draw(f'<path d="{path}" class="curve {css}"/>')
    for point, (x, y) in zip(series, places, strict=True):
        if math.isfinite(point.quality.low):
            bottom = y_scale(point.quality.low)
            top = y_scale(point.quality.high)
            frame.line(x, bottom, x, top, f"whisker thin {css}")
        frame.draw(marker(x, y, colour, 4, name))
    last = series[-1]
    if last.high_effort > last.low_effort:
        _, y = places[-1]
        left = x_scale(last.low_effort)
        right = x_scale(last.high_effort)
        frame.line(left, y, right, y, f"whisker faint {css}")


class _LabelPlacement:
    """Greedy placement of names next to points, without overlaps."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._taken: list[tuple[float, float, float, float]] = []

    def block(self, places: Sequence[tuple[float, float]]) -> None:
        """Reserve the positions of the dots, so that no name covers them."""
        for x, y in places:
            self._taken.append((x - 5, y - 5, x + 5, y + 5))

    def write(
        self,
        x: float,
        y: float,
        text: str,
        css: str,
    ) -> None:
        """Write a name next to a point, or omit it if there is no room."""
        width = len(text) * CHARACTER_PX
        # The label goes to the free position closest to the height of the point, preferably on the
        # right.
        for rise, side in product((0, 9, 18, -9), (7, -7 - width)):
            left = x + side
            base = y - 4 + rise
            if self._is_free(left, base, width):
                self._taken.append((left, base - 11, left + width, base + 2))
                self._frame.text(left, base, text, css=f"end {css}")
                return

    def _is_free(
        self,
        left: float,
        base: float,
        width: float,
    ) -> bool:
        frame = self._frame
        top = base - 11
        right = left + width
        bottom = base + 2
        is_inside_sides = left > frame.left and right < frame.width_px
        is_inside_height = top > frame.top - 10 and bottom < frame.height_px - frame.bottom
        if not (is_inside_sides and is_inside_height):
            return False
        for other_left, other_top, other_right, other_bottom in self._taken:
            overlaps_sideways = right >= other_left and left <= other_right
            overlaps_in_height = bottom >= other_top and top <= other_bottom
            if overlaps_sideways and overlaps_in_height:
                return False
        return True
