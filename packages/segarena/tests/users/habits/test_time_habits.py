from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from segarena.users.habits.time_habits import LogNormalSeconds, PointerSpeed, sum_seconds

MOUSE = PointerSpeed(
    point_a_s=-0.107, point_b_s=0.223, drag_a_s=0.135, drag_b_s=0.249, least_s=0.15, spread=0.4
)


def test_seconds_are_log_normal():
    one = LogNormalSeconds(2.0, 0.5)
    other = stats.lognorm(s=0.5, scale=2.0)
    assert one.mean == pytest.approx(other.mean())
    assert one.variance == pytest.approx(other.var())
    assert [one.quantile(p) for p in (0.1, 0.5, 0.9)] == pytest.approx(other.ppf([0.1, 0.5, 0.9]))
    assert [one.share(s) for s in (0.5, 2.0, 5.0)] == pytest.approx(other.cdf([0.5, 2.0, 5.0]))


def test_a_sum_has_the_mean_and_variance_of_its_parts_and_nearly_their_quantiles():
    parts = [
        LogNormalSeconds(1.9, 0.5),
        LogNormalSeconds(0.5, 0.4),
        LogNormalSeconds(0.1, 0.3),
        LogNormalSeconds(3.0, 0.6),
    ]
    found = sum_seconds(parts)
    assert found.mean == pytest.approx(sum(part.mean for part in parts))
    assert found.variance == pytest.approx(sum(part.variance for part in parts))
    rng = np.random.default_rng(0)
    drawn = sum(part.median * np.exp(part.spread * rng.standard_normal(100_000)) for part in parts)
    for share in (0.25, 0.5, 0.75, 0.9):
        assert found.quantile(share) == pytest.approx(np.quantile(drawn, share), rel=0.05)


def test_nothing_takes_no_time():
    assert sum_seconds([]) == LogNormalSeconds(0.0, 0.0)
    assert sum_seconds(
        [LogNormalSeconds(0.0, 0.0), LogNormalSeconds(2.0, 0.0)]
    ).median == pytest.approx(2.0)
    assert LogNormalSeconds(0.0, 0.0).share(0.0) == 1.0


def test_a_factor_widens_and_keeps_the_median():
    assert LogNormalSeconds(3.0, 0.3).wider(0.4) == LogNormalSeconds(3.0, 0.5)


def test_moving_follows_fitts():
    """An example: a button of 32 px at a distance of 400 px takes 729 ms with a mouse (MacKenzie's coefficients)."""
    assert MOUSE.point(400, 32).median == pytest.approx(0.729, abs=0.005)
    assert MOUSE.drag(300, 100).median == pytest.approx(0.135 + 0.249 * 2)


def test_no_movement_is_quicker_than_the_least():
    assert MOUSE.point(0, 10).median == 0.15
    assert math.isfinite(MOUSE.point(0, 10).mean)
