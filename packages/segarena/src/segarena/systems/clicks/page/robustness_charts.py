"""Charts of the rclicks report: curves by clicking group, mean against deviation, correlations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape

from segarena.reports.axes import CHARACTER_PX, Frame, px
from segarena.reports.baselines import FLOOR_NOTE, floor_colour
from segarena.reports.chart_series import Figure, area_statistic, chart_size_px, make_figure
from segarena.reports.charts import ChartColour, Curve, PointCloud, line_chart, scatter_chart
from segarena.reports.display_names import metric_name
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import (
    curve_intervals,
    mean_over_targets,
    summary_metrics,
    summary_thresholds,
    target_values,
)
from segarena.statistics.correlations import CorrelationTable
from segarena.systems.clicks.page.robustness_run_values import user_roles
from segarena.systems.clicks.page.robustness_statistics import DatasetHardness

GROUP_COLOURS = 10
"""Number of palette colours from least to most likely group: CSS classes `g1` to `g10`."""

NUMBERED_TARGETS = 6
"""Number of numbered instances of each dataset in the scatter chart; the pictures use the same numbers."""


DENSE_CELL = 0.65
"""Minimum correlation for which the text in a cell needs a light colour."""


def group_colour(index: int, count: int) -> str:
    """Return the CSS class of group `index` of `count`; the groups are spread over the palette."""
    return f"g{1 + round(index * (GROUP_COLOURS - 1) / max(1, count - 1))}"


def group_legend(run: Run) -> list[tuple[str, ChartColour]]:
    """Return a legend with the names and colours of the groups, from least to most likely."""
    groups = user_roles(run).groups
    return [(name, group_colour(index, len(groups))) for index, name in enumerate(groups)]


def group_curves(runs: Sequence[Run], floors: Sequence[Run] = ()) -> Figure | None:
    """Return Figure 7: one panel per run, with the curves of the base user, the groups and the controls."""
    metric = summary_metrics(runs[0])[0]
    name = metric_name(metric)
    finished = [run for run in runs if run.finished()]
    curves: dict[str, list[Curve]] = {}
    values: list[float] = []
    for run in finished:
        run_curves = [*_user_curves(run, metric), *_floor_curves(run, floors, metric)]
        curves[run.label] = run_curves
        for curve in run_curves:
            values += [*curve.low, *curve.y]
    known = [value for value in values if not math.isnan(value)]
    # The axis starts at the next lower multiple of 0.1.
    axis_start = math.floor(min(known, default=0.0) * 10) / 10
    charts: list[tuple[str, str]] = []
    for run in finished:
        chart = _group_chart(run, curves[run.label], metric, axis_start, len(curves))
        charts.append((run.label, chart))
    caption = (
        f"Mean {name} over targets after each click: base user dashed, clicking groups from the "
        "least (G1) to the most likely clicks. The base user, the first group and the last group "
        "have bands, which are 95 % intervals; numbers are AuC."
    )
    if floors:
        caption = f"{caption} {FLOOR_NOTE}"
    figure = make_figure(f"{name} against clicks, by clicking group", caption, charts)
    if figure is None:
        return None
    return replace(figure, is_wide=True)


def hardness_scatter(hardness: Sequence[DatasetHardness]) -> Figure | None:
    """Return Figure 8: the mean and deviation of the IoU after the first click, one dot per instance."""
    clicked = [(order, one) for order, one in enumerate(hardness) if one.keys]
    if not clicked:
        return None
    clouds = [_point_cloud(order, one) for order, one in clicked]
    highest = max(max(cloud.x) for cloud in clouds)
    chart = scatter_chart(
        clouds,
        title="mean against deviation of IoU@1",
        x_label="deviation of IoU@1 over clicks",
        y_label="mean IoU@1 over clicks",
        x_range=(0.0, max(0.05, highest * 1.08)),
        size_px=(760.0, 380.0),
    )
    clicks_of = {"real": "real clicks", "groups": "one click of each group"}
    means: list[str] = []
    for _, one in clicked:
        means.append(f"{one.dataset} {one.nsr.mean():.3f} ({clicks_of[one.user_kind]})")
    caption = (
        "One dot per target, averaged over segmenters. Targets to the lower right depend most on "
        "the position of the first click: their noise-to-signal ratio "
        "(NSR), deviation divided by mean, is high. "
        f"Mean NSR: {'; '.join(means)}. Numbers are those of the pictures below."
    )
    return make_figure("Mean against deviation of the first click’s IoU", caption, [("", chart)])


def correlation_figure(table: CorrelationTable, about: str) -> Figure:
    """Return Figure 14: the absolute correlation of every pair of measures."""
    caption = (
        f"Size of the correlation over {about}: Spearman below the diagonal, Pearson above it, "
        "mean over datasets. With few segmenters only large correlations are meaningful."
    )
    return Figure(
        title="Correlations of measures",
        caption=caption,
        charts=[("", _correlation_matrix(table))],
        is_wide=True,
    )


def _user_curves(run: Run, metric: str) -> list[Curve]:
    roles = user_roles(run)
    # Of the groups, only the first and the last have labels and bands; those of all would overlap.
    labelled = (roles.base, *roles.groups[:1], *roles.groups[-1:])
    users = [(name, str(colour)) for name, colour in group_legend(run)]
    if roles.base:
        users.append((roles.base, "base"))
    curves: list[Curve] = []
    for user, colour in users:
        curves.append(_curve(run, user, colour, metric, is_labelled=user in labelled))
    return curves


def _floor_curves(
    run: Run,
    floors: Sequence[Run],
    metric: str,
) -> list[Curve]:
    """Return the base user's curve for each control segmenter on the same data."""
    base = user_roles(run).base
    if base is None:
        return []
    curves: list[Curve] = []
    for index, floor in enumerate(floors):
        if floor.data != run.data or not floor.finished(base):
            continue
        curve = _curve(floor, base, floor_colour(index), metric, is_labelled=True)
        label = curve.label.replace(base, floor.segmenter, 1)
        curves.append(replace(curve, label=label, is_floor=True))
    return curves


def _group_chart(
    run: Run,
    curves: Sequence[Curve],
    metric: str,
    axis_start: float,
    panels: int,
) -> str:
    legend = group_legend(run)
    if user_roles(run).base:
        legend.insert(0, ("base", "base"))
    return line_chart(
        curves,
        title=f"{metric_name(metric)} against clicks by clicking group, {run.label}",
        x_label="clicks",
        y_label=f"mean {metric_name(metric)}",
        marks=summary_thresholds(run, metric),
        y_range=(axis_start, 1.0),
        legend=legend,
        size_px=chart_size_px(panels, 380.0),
    )


def _curve(
    run: Run,
    user: str,
    colour: ChartColour,
    metric: str,
    *,
    is_labelled: bool,
) -> Curve:
    intervals = curve_intervals(run, user, metric)
    area = mean_over_targets(target_values(run, user, area_statistic(run))).mean
    label = ""
    low = [math.nan] * len(intervals)
    high = low
    if is_labelled:
        low = [interval.low for interval in intervals]
        high = [interval.high for interval in intervals]
        if not math.isnan(area):
            name = "base" if colour == "base" else user
            label = f"{name} {area:.3f}"
    return Curve(
        label=label,
        colour=colour,
        x=range(1, len(intervals) + 1),
        y=[interval.mean for interval in intervals],
        low=low,
        high=high,
    )


def _point_cloud(order: int, one: DatasetHardness) -> PointCloud:
    numbers = {i: str(rank) for rank, i in enumerate(one.ranking[:NUMBERED_TARGETS], 1)}
    names: list[str] = []
    for key, nsr in zip(one.keys, one.nsr, strict=True):
        names.append(f"{' / '.join(key)}: NSR {nsr:.3f}")
    return PointCloud(
        label=one.dataset,
        colour=order,
        x=one.stds.tolist(),
        y=one.means.tolist(),
        names=names,
        notes=[numbers.get(i, "") for i in range(len(one.keys))],
    )


def _correlation_matrix(table: CorrelationTable) -> str:
    cell_px = 34.0
    label_px = max(len(name) for name in table.names) * CHARACTER_PX + 12
    side_px = label_px + len(table.names) * cell_px + 4
    frame = Frame(side_px, side_px, "correlations of measures")
    for i, name in enumerate(table.names):
        centre_px = label_px + (i + 0.5) * cell_px + 4
        frame.text(label_px - 8, centre_px, name, css="name", anchor="end")
        frame.draw(
            f'<text transform="translate({px(centre_px)} {px(label_px - 8)}) rotate(-90)" '
            f'class="name">{escape(name)}</text>'
        )
        for j, other in enumerate(table.names):
            x = label_px + j * cell_px
            y = label_px + i * cell_px
            value = float(table.values[i, j])
            _draw_cell(frame, x, y, cell_px, value, f"{name}, {other}")
    return frame.svg()


def _draw_cell(
    frame: Frame,
    x: float,
    y: float,
    side_px: float,
    value: float,
    pair: str,
) -> None:
    text = "–"
    css = ""
    opacity = 0.0
    if not math.isnan(value):
        text = f"{value:.2f}".removeprefix("0")
        css = "dense" if value >= DENSE_CELL else ""
        opacity = value
    inner_px = px(side_px - 1)
    frame.draw(
        f'<g class="cell"><rect x="{px(x + 0.5)}" y="{px(y + 0.5)}" '
        f'width="{inner_px}" height="{inner_px}" '
        f'fill-opacity="{opacity:.2f}"/><title>{escape(pair)}: {text}</title>'
        f'<text x="{px(x + side_px / 2)}" y="{px(y + side_px / 2 + 4)}" '
        f'text-anchor="middle" class="tick {css}">{text}</text>'
        "</g>"
    )
