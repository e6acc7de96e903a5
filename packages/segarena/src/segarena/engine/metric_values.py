"""Metric values of one comparison: one value per column, and one per object and frame for some metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.comparison import Comparison
from segarena.engine.mutation_guard import forbid_mutation
from segarena.errors import PluginError
from segarena.multi_object import AnyComparison
from segarena.plugin_capabilities import MetricCapabilities
from segarena.roles import Metric


def metric_values(
    metrics: Sequence[MetricCapabilities],
    comparison: AnyComparison,
    *,
    check: bool = False,
) -> dict[str, float]:
    """Return the values of all `metrics` for one comparison, by column.

    Args:
        metrics: metrics of the run.
        comparison: the prediction compared with the target.
        check: whether to detect metrics that modify the comparison.

    Raises:
        PluginError: a metric returns columns other than those it declares, or a value that is not
            a number, or modified the comparison.
    """
    values: dict[str, float] = {}
    for metric in metrics:
        with forbid_mutation(f"metric {type(metric.metric).__name__}", comparison, is_on=check):
            values.update(_values_of(metric, comparison))
    return values


def _values_of(metric: MetricCapabilities, comparison: AnyComparison) -> dict[str, float]:
    """Return the values of one metric; if it handles one object at a time, the mean over the objects."""
    if isinstance(comparison, Comparison) or metric.judges_objects:
        return _call(metric.metric, comparison)
    by_object = [_call(metric.metric, one) for one in comparison.each()]
    means: dict[str, float] = {}
    for column in metric.metric.columns:
        column_values = [values[column] for values in by_object]
        means[column] = fmean(column_values)
    return means


def part_values(
    metrics: Sequence[MetricCapabilities], comparison: AnyComparison
) -> list[tuple[int, int, dict[str, float]]]:
    """Return (object, frame, values) of the metrics that score each object and frame, ordered by frame.

    Object labels start at 1, frame indices at 0.

    Raises:
        PluginError: two metrics return values for different objects or frames, or the values of a
            metric are not an array of shape (objects, frames).
    """
    columns: dict[str, NDArray[np.float64]] = {}
    for metric in metrics:
        if metric.parts is not None:
            for name, values in metric.parts(comparison).items():
                columns[name] = np.asarray(values, dtype=np.float64)
    if not columns:
        return []
    shapes = {values.shape for values in columns.values()}
    if len(shapes) > 1 or any(len(shape) != 2 for shape in shapes):
        raise PluginError(
            f"parts: expected arrays of one shape (objects, frames), got {sorted(shapes)}"
        )
    objects, frames = shapes.pop()
    rows: list[tuple[int, int, dict[str, float]]] = []
    for frame in range(frames):
        for index in range(objects):
            part = {name: float(values[index, frame]) for name, values in columns.items()}
            rows.append((index + 1, frame, part))
    return rows


def _call(metric: Metric, comparison: Any) -> dict[str, float]:
    value = metric(comparison)
    # `dict` first, because the check for an abstract class takes longer than a metric of a small image.
    if isinstance(value, (dict, Mapping)):
        named = value
    else:
        named = {metric.columns[0]: value}
    if named.keys() != set(metric.columns):
        raise PluginError(
            f"metric {type(metric).__name__} declares columns {metric.columns}, but returned {tuple(named)}"
        )
    try:
        return {column: float(number) for column, number in named.items()}
    except (TypeError, ValueError) as error:
        column, number = next(item for item in named.items() if not _is_number(item[1]))
        raise PluginError(
            f"metric {type(metric).__name__}: expected a number as {column}, got {type(number).__name__}"
        ) from error


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
