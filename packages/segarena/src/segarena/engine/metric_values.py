"""What the metrics of a run say of one comparison: a value per column, and per object and frame where they can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from segarena.abilities import MetricAbilities
from segarena.comparison import Comparison
from segarena.engine.mutation_guard import forbid_mutation
from segarena.errors import PluginError
from segarena.objects import Judged
from segarena.roles import Metric


def metric_values(
    metrics: Sequence[MetricAbilities], comparison: Judged, *, check: bool = False
) -> dict[str, float]:
    """Return the values of all `metrics` for one comparison, by column.

    Args:
        metrics: of the run.
        comparison: what they judge.
        check: whether to make sure that none of them writes into it.

    Raises:
        PluginError: a metric gives other columns than it names, or changed the comparison.
    """
    values: dict[str, float] = {}
    for metric in metrics:
        with forbid_mutation(f"metric {type(metric.metric).__name__}", comparison, is_on=check):
            values.update(_of_metric(metric, comparison))
    return values


def _of_metric(metric: MetricAbilities, comparison: Judged) -> dict[str, float]:
    if isinstance(comparison, Comparison) or metric.judges_objects:
        return _measure(metric.metric, comparison)
    each = [_measure(metric.metric, one) for one in comparison.each()]
    return {column: fmean(value[column] for value in each) for column in metric.metric.columns}


def part_values(
    metrics: Sequence[MetricAbilities], comparison: Judged
) -> list[tuple[int, int, dict[str, float]]]:
    """Return (object, frame, values) of those metrics that can say something of each, frame by frame.

    Raises:
        PluginError: two metrics give values of other objects or frames.
    """
    tables = [metric.parts(comparison) for metric in metrics if metric.parts is not None]
    if not tables:
        return []
    columns = {
        name: np.asarray(values, dtype=np.float64)
        for table in tables
        for name, values in table.items()
    }
    shapes = {values.shape for values in columns.values()}
    if len(shapes) > 1 or any(len(shape) != 2 for shape in shapes):
        raise PluginError(
            f"parts: expected arrays of one shape (objects, frames), got {sorted(shapes)}"
        )
    if not shapes:
        return []
    objects, frames = shapes.pop()
    return [
        (one + 1, frame, {name: float(values[one, frame]) for name, values in columns.items()})
        for frame in range(frames)
        for one in range(objects)
    ]


def _measure(metric: Metric, comparison: Any) -> dict[str, float]:
    value = metric(comparison)
    named = dict(value) if isinstance(value, Mapping) else {metric.columns[0]: value}
    if set(named) != set(metric.columns):
        raise PluginError(
            f"metric {type(metric).__name__} names columns {metric.columns}, gave {tuple(named)}"
        )
    return {column: float(number) for column, number in named.items()}
