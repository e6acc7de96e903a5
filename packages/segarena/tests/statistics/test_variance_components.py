from __future__ import annotations

import math

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.statistics.variance_components import unit_variation


def measured(deviation, *, things=60, units=12, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    own = rng.standard_normal(units)
    own = deviation * (own - own.mean()) / own.std(ddof=1)
    return rng.normal(0.5, 1.0, (things, 1)) + own + noise * rng.standard_normal((things, units))


def two_way(values):
    """Return the variance component of columns from the mean squares of a two-way analysis of variance."""
    things, units = values.shape
    rows, columns = values.mean(axis=1, keepdims=True), values.mean(axis=0, keepdims=True)
    left = values - rows - columns + values.mean()
    error = (left**2).sum() / ((things - 1) * (units - 1))
    return (things * columns.var(ddof=1) - error) / things


def test_the_deviation_is_the_variance_component_of_a_two_way_table():
    values = measured(0.2)
    assert unit_variation(values).deviation == pytest.approx(math.sqrt(two_way(values)))


def test_chance_is_taken_out():
    found = [
        unit_variation(measured(0.0, seed=seed, things=10), repeats=1).deviation
        for seed in range(30)
    ]
    assert np.mean(found) < 0.05  # the means themselves deviate by 0.3 / sqrt(10) = 0.095
    assert found.count(0.0) > 8


def test_what_is_there_is_found_within_the_interval():
    found = unit_variation(measured(0.2))
    assert found.low < 0.2 < found.high
    assert found.low < found.deviation < found.high


def test_the_lowest_and_highest_unit_are_told():
    values = measured(0.2)
    found = unit_variation(values)
    assert (found.least, found.most) == (values.mean(axis=0).min(), values.mean(axis=0).max())


def test_what_was_not_measured_is_left_out():
    values = measured(0.3, things=200)
    gaps = values.copy()
    gaps[np.random.default_rng(1).random(values.shape) < 0.1] = np.nan
    assert unit_variation(gaps).deviation == pytest.approx(
        unit_variation(values).deviation, rel=0.25
    )


def test_things_of_one_cluster_have_no_interval():
    found = unit_variation(measured(0.2), ["photograph"] * 60)
    assert math.isnan(found.low)
    assert found.deviation > 0


def test_one_unit_has_nothing_between():
    assert math.isnan(unit_variation(np.ones((5, 1))).deviation)
    assert math.isnan(unit_variation(np.empty((0, 3))).deviation)


def test_a_list_is_refused():
    with pytest.raises(InvalidInput, match="two axes"):
        unit_variation([1.0, 2.0])
