"""Figures about groups of targets: by what the dataset says of them, above all their size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from segarena.reports.chart_series import (
    Figure,
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
from segarena.roles import Statistic
from segarena.statistics.intervals import Interval

MAX_GROUPS = 8
"""An attribute with more different words than this is not a grouping."""

MAX_RUN_LINES = 10
"""Of more runs the best are shown."""

MAX_USER_LINES = 4
"""More users than this are shown as their mean."""

SIZE_WORDS = ("area", "size")
"""A numeric attribute is taken for the object's size when its name has one of these in it."""

SIZE_ORDER = ("tiny", "small", "medium", "large", "huge")
"""The order of groups that are named so."""


def group_figures(runs: Sequence[Run]) -> list[Figure]:
    """Return AuC by each attribute that groups the targets, and against their size when it is a number."""
    attributes: dict[TargetKey, Mapping[str, Any]] = {}
    for run in runs:
        attributes.update({(d.sample, d.target): d.attributes for d in run.finished()})
    made: list[Figure | None] = []
    for name, (groups, sizes) in target_groupings(attributes).items():
        made += [_by_group(runs, name, groups), _by_size(runs, name, sizes) if sizes else None]
    return [one for one in made if one is not None]


def target_groupings(
    attributes: Mapping[TargetKey, Mapping[str, Any]],
) -> dict[str, tuple[Mapping[TargetKey, str], Mapping[TargetKey, float]]]:
    """Return for each attribute that groups the targets the group of each, and its size where that is a number."""
    found: dict[str, tuple[Mapping[TargetKey, str], Mapping[TargetKey, float]]] = {}
    for name in sorted(set(chain.from_iterable(attributes.values()))):
        values = {key: given[name] for key, given in attributes.items() if name in given}
        if all(isinstance(value, str) for value in values.values()):
            if 2 <= len(set(values.values())) <= MAX_GROUPS:
                found[name] = (values, {})
        elif any(word in name for word in SIZE_WORDS) and len(set(values.values())) > 3:
            sizes = {
                k: float(v)
                for k, v in values.items()
                if isinstance(v, (int, float)) and math.isfinite(v)
            }
            found[name] = (_thirds(sizes), sizes)
    return found


def _by_group(runs: Sequence[Run], name: str, groups: Mapping[TargetKey, str]) -> Figure | None:
    statistic = area_statistic(runs[0])
    rows = list[Whisker]()
    lines = _lines(runs, statistic)
    for group in group_order(groups):
        for label, colour, values in lines:
            inside = {key: value for key, value in values.items() if groups.get(key) == group}
            if inside:
                rows.append(
                    _row(
                        f"{group} · {label}" if len(lines) > 1 else group,
                        colour,
                        mean_over_targets(inside),
                    )
                )
    title = f"{statistic.name} by {name.replace('_', ' ')}"
    chart = interval_chart(
        rows, title=title, x_label=f"mean {statistic.name}", x_range=_value_range(rows)
    )
    caption = f"Mean {statistic.name} of the targets of each group, with its 95 % interval; n: targets.{_best_text(runs)}"
    return make_figure(title, caption, [("", chart)]) if rows else None


def _lines(
    runs: Sequence[Run], statistic: Statistic
) -> list[tuple[str, ChartColour, Mapping[TargetKey, float]]]:
    """Return (label, colour, value of each target): the users of one run, or the runs, each the mean over users."""
    if len(runs) > 1:
        colours = dict(labelled_colours(runs))
        return [
            (run.label, colours[run.label], mean_over_users(run, statistic))
            for run in _best(runs, statistic)
        ]
    series = list(chain.from_iterable(group for _, group in series_by_user(runs)))
    if len(series) > MAX_USER_LINES:
        return [("all users", 0, mean_over_users(runs[0], statistic))]
    return [(one.label, one.colour, target_values(one.run, one.user, statistic)) for one in series]


def _best(runs: Sequence[Run], statistic: Statistic) -> list[Run]:
    """Return the runs with the best means, at most `MOST_RUNS`, in their order."""
    means = {run: mean_over_targets(mean_over_users(run, statistic)).mean for run in runs}
    ranked = sorted(
        runs, key=lambda run: -math.inf if math.isnan(means[run]) else means[run], reverse=True
    )
    return [run for run in runs if run in ranked[:MAX_RUN_LINES]]


def _best_text(runs: Sequence[Run]) -> str:
    return f" The best {MAX_RUN_LINES} of {len(runs)} runs." if len(runs) > MAX_RUN_LINES else ""


def _row(label: str, colour: ChartColour, mean: Interval) -> Whisker:
    low, high = (mean.mean if math.isnan(end) else end for end in (mean.low, mean.high))
    note = f"{mean.mean:.3f}, n = {mean.n}"
    return Whisker(label=label, colour=colour, value=mean.mean, low=low, high=high, note=note)


def _by_size(runs: Sequence[Run], name: str, sizes: Mapping[TargetKey, float]) -> Figure | None:
    statistic = area_statistic(runs[0])
    clouds = list[PointCloud]()
    colours = dict(zip(runs, colour_numbers(runs), strict=True))
    for run in _best(runs, statistic):
        values = mean_over_users(run, statistic)
        keys = [key for key in sizes if key in values]
        clouds.append(
            PointCloud(
                label=run.label,
                colour=colours[run],
                x=[sizes[key] for key in keys],
                y=[values[key] for key in keys],
                names=[" / ".join(key) for key in keys],
            )
        )
    word = name.replace("_", " ")
    title = f"{statistic.name} of each target against its {word}"
    chart = scatter_chart(clouds, title=title, x_label=word, y_label=statistic.name)
    caption = f"One dot per target, the mean over users and repeats.{_best_text(runs)}"
    return make_figure(title, caption, [("", chart)])


def _thirds(sizes: Mapping[TargetKey, float]) -> dict[TargetKey, str]:
    low, high = (float(np.quantile(list(sizes.values()), share)) for share in (1 / 3, 2 / 3))
    names = (f"small (≤ {_short(low)})", "medium", f"large (> {_short(high)})")
    return {key: names[int(size > low) + int(size > high)] for key, size in sizes.items()}


def _short(size: float) -> str:
    return f"{size:.0f}" if size >= 100 else f"{size:.3g}"


def group_order(groups: Mapping[TargetKey, str]) -> list[str]:
    """Return the groups from small to large where their names say so, by name otherwise."""
    place = {name: index for index, name in enumerate(SIZE_ORDER)}
    return sorted(
        set(groups.values()),
        key=lambda group: (place.get(group.split(" ")[0].lower(), len(SIZE_ORDER)), group),
    )


def _value_range(rows: Sequence[Whisker]) -> tuple[float, float]:
    low = min((r.low for r in rows), default=0.0)
    high = max((r.high for r in rows), default=1.0)
    pad = (high - low) * 0.06 or 0.05
    return low - pad, high + pad
