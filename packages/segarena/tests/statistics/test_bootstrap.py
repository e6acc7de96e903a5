import math

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.statistics import bootstrap
from segarena.statistics.bootstrap import (
    check_bootstrap,
    draw_counts,
    draw_units,
    mean_of_defined,
    percentile_interval,
)


def rng():
    return np.random.default_rng(5)


def test_parts_are_one_stream_of_draws(monkeypatch):
    (whole,) = draw_units(7, 100, rng())
    monkeypatch.setattr(bootstrap, "_MAX_INDICES", 20)
    parts = list(draw_units(7, 100, rng()))
    assert len(parts) == 50
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(whole, rng().integers(7, size=(100, 7)))


def test_times_count_the_units_of_the_same_draws():
    (units,) = draw_units(6, 40, rng())
    (times,) = draw_counts(6, 40, rng())
    np.testing.assert_array_equal(times, [np.bincount(draw, minlength=6) for draw in units])


@pytest.mark.parametrize("stream", ["units", "multinomial"])
def test_every_draw_has_as_many_units_as_there_are(stream):
    times = np.concatenate(list(draw_counts(50, 3000, rng(), stream=stream)))
    assert set(times.sum(axis=1)) == {50.0}
    # Each unit is drawn binomially, 50 times with probability 1 / 50: mean 1, variance 0.98.
    assert times.mean(axis=0) == pytest.approx(np.ones(50), abs=0.1)
    assert times.var() == pytest.approx(0.98, abs=0.02)


def test_ends_are_quantiles_of_what_is_defined():
    values = rng().random(1001)
    low, high = percentile_interval([*values, math.nan], 0.9)
    assert (low, high) == pytest.approx((np.sort(values)[50], np.sort(values)[950]))
    assert all(map(math.isnan, percentile_interval([math.nan], 0.9)))
    assert all(map(math.isnan, percentile_interval([], 0.9)))


def test_means_leave_out_what_is_not_defined():
    table = [[1.0, math.nan, math.nan], [2.0, 5.0, math.nan]]
    np.testing.assert_array_equal(mean_of_defined(table), [1.5, 5.0, math.nan])


@pytest.mark.parametrize(("repeats", "level"), [(0, 0.95), (10, 0.0), (10, 1.0), (10, math.nan)])
def test_a_bootstrap_without_an_interval_is_refused(repeats, level):
    with pytest.raises(InvalidInput, match="repeats of at least 1"):
        check_bootstrap(repeats, level)
