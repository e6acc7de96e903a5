"""The charts of the rclicks report: curves by clicking group, mean against deviation, correlations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from itertools import chain, filterfalse

from segarena.reports.axes import CHARACTER_PX, Frame, px
from segarena.reports.baselines import FLOOR_NOTE, floor_colour
from segarena.reports.chart_series import Figure, area_statistic, chart_size_px, make_figure
from segarena.reports.charts import ChartColour, Curve, PointCloud, line_chart, scatter_chart
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import (
    curve_intervals,
    mean_over_targets,
    summary_metrics,
    summary_thresholds,
    target_values,
)
from segarena.reports.wording import metric_name
from segarena.statistics.correlations import CorrelationTable
from segarena.systems.clicks.page.robustness_statistics import DatasetHardness
from segarena.systems.clicks.page.run_values import user_roles

GROUP_COLOURS = 10
"""Steps of the page's palette from least to most likely, CSS classes `g1` to `g10`."""

NUMBERED_TARGETS = 6
"""Instances with a number in the scatter; the pictures have the same numbers."""


def group_colour(place: int, count: int) -> str:
    """Return the CSS class of the group at `place`, from 0, of `count`: the palette is spread over them."""
    return f"g{1 + round(place * (GROUP_COLOURS - 1) / max(1, count - 1))}"


def group_legend(run: Run) -> list[tuple[str, ChartColour]]:
    """Return what the groups are called and their colours, from least to most likely."""
    groups = user_roles(run).groups
    return [(name, group_colour(place, len(groups))) for place, name in enumerate(groups)]


def group_curves(runs: Sequence[Run], floors: Sequence[Run] = ()) -> Figure | None:
    """Return Figure 7: a panel per run, the curve of the base user over those of the groups, and that of each floor."""
    metric = summary_metrics(runs[0])[0]
    name = metric_name(metric)
    curves = {
        run.label: [*_curves(run, metric), *_floor_curves(run, floors, metric)]
        for run in runs
        if run.finished()
    }
    ends = chain.from_iterable((*curve.low, *curve.y) for curve in chain(*curves.values()))
    lowest = min(filterfalse(math.isnan, ends), default=0.0)
    floor = math.floor(lowest * 10) / 10
    shown = [run for run in runs if run.label in curves]
    charts = [
        (run.label, _group_chart(run, curves[run.label], metric, floor, len(curves)))
        for run in shown
    ]
    caption = (
        f"Mean {name} over targets after each click: base user dashed, clicking groups from the least (G1) to the most "
        "likely clicks. Bands, of base user, first and last group, are 95 % intervals; numbers are AuC."
    )
    caption = f"{caption} {FLOOR_NOTE}" if floors else caption
    made = make_figure(f"{name} against clicks, by clicking group", caption, charts)
    return made and replace(made, is_wide=True)


def hardness_scatter(found: Sequence[DatasetHardness]) -> Figure | None:
    """Return Figure 8: a dot per instance, its deviation and mean of the IoU after the first click."""
    clouds = [_cloud(order, one) for order, one in enumerate(found) if one.keys]
    if not clouds:
        return None
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
    means = "; ".join(
        f"{one.dataset} {one.nsr.mean():.3f} ({clicks_of[one.who]})" for one in found if one.keys
    )
    caption = (
        "One dot per target, averaged over segmenters. To the lower right is what depends most on where the first "
        f"click falls: noise-to-signal ratio (NSR), deviation over mean. Mean NSR: {means}. Numbers are those of the "
        "pictures below."
    )
    return make_figure("Mean against deviation of the first click’s IoU", caption, [("", chart)])


def correlation_figure(table: CorrelationTable, about: str) -> Figure:
    """Return Figure 14: the size of the correlation of every pair of measures."""
    caption = (
        f"Size of the correlation over {about}: Spearman below the diagonal, Pearson above it, mean over datasets. "
        "With few segmenters only large ones mean something."
    )
    return Figure(
        title="How measures go together",
        caption=caption,
        charts=[("", _matrix(table))],
        is_wide=True,
    )


def _curves(run: Run, metric: str) -> list[Curve]:
    roles = user_roles(run)
    ends = (roles.base, *roles.groups[:1], *roles.groups[-1:])
    users = [
        (name, group_colour(place, len(roles.groups))) for place, name in enumerate(roles.groups)
    ]
    users += [(roles.base, "base")] if roles.base else []
    return [_curve(run, user, colour, metric, is_named=user in ends) for user, colour in users]


def _floor_curves(run: Run, floors: Sequence[Run], metric: str) -> list[Curve]:
    """Return what the base user reached with each floor on the same data."""
    base = user_roles(run).base
    curves = list[Curve]()
    for place, floor in enumerate(floors):
        if base is not None and floor.data == run.data and floor.finished(base):
            curve = _curve(floor, base, floor_colour(place), metric, is_named=True)
            curves.append(
                replace(curve, label=curve.label.replace(base, floor.segmenter, 1), is_floor=True)
            )
    return curves


def _group_chart(run: Run, curves: Sequence[Curve], metric: str, floor: float, panels: int) -> str:
    return line_chart(
        curves,
        title=f"{metric_name(metric)} against clicks by clicking group, {run.label}",
        x_label="clicks",
        y_label=f"mean {metric_name(metric)}",
        marks=summary_thresholds(run, metric),
        y_range=(floor, 1.0),
        legend=[*([("base", "base")] if user_roles(run).base else []), *group_legend(run)],
        size_px=chart_size_px(panels, 380.0),
    )


def _curve(run: Run, user: str, colour: str, metric: str, *, is_named: bool) -> Curve:
    means = curve_intervals(run, user, metric)
    y = [interval.mean for interval in means]
    area = mean_over_targets(target_values(run, user, area_statistic(run))).mean
    name = "base" if colour == "base" else user
    return Curve(
        label=f"{name} {area:.3f}" if is_named and not math.isnan(area) else "",
        colour=colour,
        x=range(1, len(means) + 1),
        y=y,
        low=[interval.low for interval in means] if is_named else [math.nan] * len(y),
        high=[interval.high for interval in means] if is_named else [math.nan] * len(y),
    )


def _cloud(order: int, one: DatasetHardness) -> PointCloud:
    numbers = {i: str(place) for place, i in enumerate(one.ranking[:NUMBERED_TARGETS], 1)}
    return PointCloud(
        label=one.dataset,
        colour=order,
        x=one.stds.tolist(),
        y=one.means.tolist(),
        names=[
            f"{' / '.join(key)}: NSR {nsr:.3f}" for key, nsr in zip(one.keys, one.nsr, strict=True)
        ],
        notes=[numbers.get(i, "") for i in range(len(one.keys))],
    )


def _matrix(table: CorrelationTable) -> str:
    cell = 34.0
    room = max(map(len, table.names)) * CHARACTER_PX + 12
    count = len(table.names)
    frame = Frame(room + count * cell + 4, room + count * cell + 4, "correlations of measures")
    for i, name in enumerate(table.names):
        frame.text(room - 8, room + (i + 0.5) * cell + 4, name, css="name", anchor="end")
        x = px(room + (i + 0.5) * cell + 4)
        y = px(room - 8)
        frame.draw(
            f'<text transform="translate({x} {y}) rotate(-90)" class="name">{escape(name)}</text>'
        )
        for j, other in enumerate(table.names):
            _cell(
                frame,
                room + j * cell,
                room + i * cell,
                cell,
                float(table.values[i, j]),
                f"{name}, {other}",
            )
    return frame.svg()


def _cell(frame: Frame, x: float, y: float, side: float, value: float, what: str) -> None:
    is_known = not math.isnan(value)
    text = f"{value:.2f}".removeprefix("0") if is_known else "–"
    css = "dense" if is_known and value >= 0.65 else ""
    frame.draw(
        f'<g class="cell"><rect x="{px(x + 0.5)}" y="{px(y + 0.5)}" width="{px(side - 1)}" height="{px(side - 1)}" '
        f'fill-opacity="{value if is_known else 0:.2f}"/><title>{escape(what)}: {text}</title>'
        f'<text x="{px(x + side / 2)}" y="{px(y + side / 2 + 4)}" text-anchor="middle" class="tick {css}">{text}</text>'
        "</g>"
    )
