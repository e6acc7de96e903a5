"""Figures about groups of targets, which are formed by dataset attributes, mostly by object size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from segarena.benchmark_rules import Statistic
from segarena.reports.chart_series import (
    Figure,
    Series,
    area_statistic,
    colour_numbers,
    labelled_colours,
    make_figure,
    series_by_user,
)
from segarena.reports.charts import ChartColour, PointCloud, Whisker, interval_chart, scatter_chart
from segarena.reports.recorded_run import Run
from segarena.reports.run_statistics import (
    TargetKey,
    mean_over_targets,
    mean_over_users,
    target_values,
)
from segarena.statistics.intervals import Interval

MAX_GROUPS = 8
"""An attribute with more distinct words than this does not form groups."""

MAX_RUN_LINES = 10
"""If there are more runs, figures show only this many, the best ones."""

MAX_USER_LINES = 4
"""If a single run has more users, figures show their mean."""

SIZE_WORDS = ("area", "size")
"""A numeric attribute counts as object size if its name contains one of these."""

SIZE_ORDER = ("tiny", "small", "medium", "large", "huge")
"""Order of the groups with these names."""


def group_figures(runs: Sequence[Run]) -> list[Figure]:
    """Draw AuC by each attribute that groups the targets, and AuC against numeric sizes."""
    attributes: dict[TargetKey, Mapping[str, Any]] = {}
    for run in runs:
        for dialogue in run.finished():
            attributes[dialogue.sample, dialogue.target] = dialogue.attributes
    made: list[Figure | None] = []
    for name, (groups, sizes) in target_groupings(attributes).items():
        made.append(_by_group(runs, name, groups))
        if sizes:
            made.append(_by_size(runs, name, sizes))
    return [one for one in made if one is not None]


def target_groupings(
    attributes: Mapping[TargetKey, Mapping[str, Any]],
) -> dict[str, tuple[Mapping[TargetKey, str], Mapping[TargetKey, float]]]:
    """Return (group by target, size by target) for each attribute that forms groups.

    Sizes are empty for an attribute whose values are words. Numeric sizes are divided into thirds.
    """
    found: dict[str, tuple[Mapping[TargetKey, str], Mapping[TargetKey, float]]] = {}
    names = set(chain.from_iterable(attributes.values()))
    for name in sorted(names):
        values: dict[TargetKey, Any] = {}
        for key, given in attributes.items():
            if name in given:
                values[key] = given[name]
        distinct = set(values.values())
        is_size = any(word in name for word in SIZE_WORDS)
        if all(isinstance(value, str) for value in distinct):
            if 2 <= len(distinct) <= MAX_GROUPS:
                found[name] = (values, {})
        elif is_size and len(distinct) > 3:
            sizes = _finite_sizes(values)
            if sizes:
                found[name] = (_thirds(sizes), sizes)
    return found


def _finite_sizes(values: Mapping[TargetKey, Any]) -> dict[TargetKey, float]:
    """Return the values that are finite numbers."""
    sizes: dict[TargetKey, float] = {}
    for key, value in values.items():
        if isinstance(value, (int, float)) and math.isfinite(value):
            sizes[key] = float(value)
    return sizes


def _by_group(
    runs: Sequence[Run],
    name: str,
    groups: Mapping[TargetKey, str],
) -> Figure | None:
    statistic = area_statistic(runs[0])
    rows = list[Whisker]()
    lines = _lines(runs, statistic)
    for group in group_order(groups):
        for label, colour, values in lines:
            in_group = {key: value for key, value in values.items() if groups.get(key) == group}
            if not in_group:
                continue
            row_name = f"{group} · {label}" if len(lines) > 1 else group
            rows.append(_whisker(row_name, colour, mean_over_targets(in_group)))
    if not rows:
        return None
    title = f"{statistic.name} by {name.replace('_', ' ')}"
    chart = interval_chart(
        rows, title=title, x_label=f"mean {statistic.name}", x_range=_value_range(rows)
    )
    caption = (
        f"Mean {statistic.name} over the targets of each group with its 95 % interval; "
        f"n: number of targets.{_best_text(runs)}"
    )
    return make_figure(title, caption, [("", chart)])


def _lines(
    runs: Sequence[Run], statistic: Statistic
) -> list[tuple[str, ChartColour, Mapping[TargetKey, float]]]:
    """Return (label, colour, value by target) of each line of the figure.

    A single run has a line for each user, or one line for the means over all users if there are too
    many. If there are several runs, each of the best has one line for the means over its users.
    """
    lines: list[tuple[str, ChartColour, Mapping[TargetKey, float]]] = []
    if len(runs) > 1:
        colours = dict(labelled_colours(runs))
        for run in _best_runs(runs, statistic):
            lines.append((run.label, colours[run.label], mean_over_users(run, statistic)))
        return lines
    series: list[Series] = []
    for _, group in series_by_user(runs):
        series += group
    if len(series) > MAX_USER_LINES:
        return [("all users", 0, mean_over_users(runs[0], statistic))]
    for one in series:
        lines.append((one.label, one.colour, target_values(one.run, one.user, statistic)))
    return lines


def _best_runs(runs: Sequence[Run], statistic: Statistic) -> list[Run]:
    """Return the runs with the best means, at most `MAX_RUN_LINES`, in their original order."""

    def mean(run: Run) -> float:
        found = mean_over_targets(mean_over_users(run, statistic)).mean
        return -math.inf if math.isnan(found) else found

    ranked = sorted(runs, key=mean, reverse=True)
    return [run for run in runs if run in ranked[:MAX_RUN_LINES]]


def _best_text(runs: Sequence[Run]) -> str:
    if len(runs) <= MAX_RUN_LINES:
        return ""
    return f" Only the best {MAX_RUN_LINES} of {len(runs)} runs are shown."


def _whisker(
    label: str,
    colour: ChartColour,
    mean: Interval,
) -> Whisker:
    low = mean.low
    high = mean.high
    # The mean of a single image has no interval, so draw a whisker of length 0.
    if math.isnan(low):
        low = mean.mean
    if math.isnan(high):
        high = mean.mean
    note = f"{mean.mean:.3f}, n = {mean.n}"
    return Whisker(
        label=label,
        colour=colour,
        value=mean.mean,
        low=low,
        high=high,
        note=note,
    )


def _by_size(
    runs: Sequence[Run],
    name: str,
    sizes: Mapping[TargetKey, float],
) -> Figure | None:
    statistic = area_statistic(runs[0])
    clouds: list[PointCloud] = []
    colours = dict(zip(runs, colour_numbers(runs), strict=True))
    for run in _best_runs(runs, statistic):
        values = mean_over_users(run, statistic)
        x: list[float] = []
        y: list[float] = []
        names: list[str] = []
        for key, size in sizes.items():
            if key in values:
                x.append(size)
                y.append(values[key])
                names.append(" / ".join(key))
        cloud = PointCloud(
            label=run.label,
            colour=colours[run],
            x=x,
            y=y,
            names=names,
        )
        clouds.append(cloud)
    word = name.replace("_", " ")
    title = f"{statistic.name} of each target against its {word}"
    chart = scatter_chart(clouds, title=title, x_label=word, y_label=statistic.name)
    caption = f"One dot per target: the mean over users and repeats.{_best_text(runs)}"
    return make_figure(title, caption, [("", chart)])


def _thirds(sizes: Mapping[TargetKey, float]) -> dict[TargetKey, str]:
    """Return the size group of each target: small, medium or large; each group has about a third of the targets."""
    low, high = np.quantile(list(sizes.values()), (1 / 3, 2 / 3)).tolist()
    small = f"small (≤ {_short(low)})"
    large = f"large (> {_short(high)})"
    groups: dict[TargetKey, str] = {}
    for key, size in sizes.items():
        if size > high:
            groups[key] = large
        elif size > low:
            groups[key] = "medium"
        else:
            groups[key] = small
    return groups


def _short(size: float) -> str:
    return f"{size:.0f}" if size >= 100 else f"{size:.3g}"


def group_order(groups: Mapping[TargetKey, str]) -> list[str]:
    """Return the groups: those that are named by size from small to large, then the others by name."""

    def sort_key(group: str) -> tuple[int, str]:
        # The name of a third continues with its limits, as in "small (≤ 40)".
        size = group.split(" ")[0].lower()
        rank = SIZE_ORDER.index(size) if size in SIZE_ORDER else len(SIZE_ORDER)
        return rank, group

    return sorted(set(groups.values()), key=sort_key)


def _value_range(rows: Sequence[Whisker]) -> tuple[float, float]:
    low = min((row.low for row in rows), default=0.0)
    high = max((row.high for row in rows), default=1.0)
    # Rows of equal values need a margin too.
    pad = (high - low) * 0.06 or 0.05
    return low - pad, high + pad
