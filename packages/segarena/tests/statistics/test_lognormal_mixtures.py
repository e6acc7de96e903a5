from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from segarena.statistics.lognormal_mixtures import mixture_quantile, mixture_shares


def test_the_quantile_of_one_is_its_own():
    assert mixture_quantile([math.log(3)], [0.5], 0.9) == pytest.approx(
        stats.lognorm(s=0.5, scale=3).ppf(0.9)
    )


def test_the_quantiles_of_several_are_those_of_draws_from_any_of_them():
    centres, spreads = np.array([0.0, 1.0, 3.0]), np.array([0.2, 0.5, 1.0])
    rng = np.random.default_rng(0)
    which = rng.integers(3, size=200_000)
    drawn = np.exp(centres[which] + spreads[which] * rng.standard_normal(len(which)))
    for share in (0.1, 0.5, 0.9):
        assert mixture_quantile(centres, spreads, share) == pytest.approx(
            np.quantile(drawn, share), rel=0.02
        )


def test_what_takes_no_time_is_over_at_once_and_what_never_comes_is_never():
    assert mixture_shares([-math.inf, math.inf], [1.0, 1.0], 0.0).tolist() == [1.0, 0.0]
    assert mixture_shares([-math.inf, math.inf], [1.0, 1.0], 1e9).tolist() == [1.0, 0.0]
    assert mixture_quantile([-math.inf, -math.inf, 1.0], [1.0, 1.0, 1.0], 0.5) == 0.0
    assert mixture_quantile([0.0, math.inf, math.inf], [1.0, 1.0, 1.0], 0.5) == math.inf
    assert mixture_quantile([math.inf], [1.0], 0.5) == math.inf


def test_nothing_has_no_quantile():
    assert math.isnan(mixture_quantile([], [], 0.5))
