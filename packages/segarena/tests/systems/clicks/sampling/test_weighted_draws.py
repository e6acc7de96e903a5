"""Samples between two shares of sorted weights, compared with sorting all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.systems.clicks.sampling import weighted_draws
from segarena.systems.clicks.sampling.weighted_draws import SamplingWeights


def by_full_sort(values, low, high, uniform):
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(values[order])
    return order[np.searchsorted(sums, (low + uniform * (high - low)) * sums[-1], side="right")]


def maps():
    rng = np.random.default_rng(0)
    yield "smooth", rng.random(5000)
    yield "skewed over forty powers of ten", 10 ** rng.uniform(-38, 2, 5000)
    yield "below what float32 holds", rng.random(500) * 1e-60
    yield "beyond what float32 holds", rng.random(500) * 1e60
    yield "few values", rng.integers(0, 4, 5000).astype(float)
    yield "half of it zero", np.where(rng.random(5000) < 0.5, 0.0, rng.random(5000))
    yield "equal in float32", 1 + rng.random(1000) * 1e-9
    yield "one", np.array([3.0])


@pytest.mark.parametrize(
    ("name", "values"), list(maps()), ids=lambda part: part if isinstance(part, str) else ""
)
def test_a_draw_is_that_of_a_full_sort(name, values):
    rng = np.random.default_rng(1)
    weights = SamplingWeights(values)
    for k in range(10):
        for uniform in rng.random(20):
            drawn = weights.draw(k / 10, (k + 1) / 10, uniform)
            assert drawn == by_full_sort(values, k / 10, (k + 1) / 10, uniform), name


@pytest.mark.parametrize("least", [1.0, 2e-3, 1e-9, 1e-38, 1e-43])
def test_few_weights_sorted_as_a_whole_are_drawn_as_class_by_class(monkeypatch, least):
    rng = np.random.default_rng(2)
    sorted_soon = set()
    for count in (1, 2, 30, 3000):
        values = np.sqrt(rng.integers(1, 90, count).astype(np.float32) / 90)
        values[rng.random(count) < 0.2] = 0
        values[rng.integers(count)] = least
        quick = SamplingWeights(values)
        slow = SamplingWeights(values)
        sorted_soon.add(quick._can_sort_fully)
        uniforms = [0.0, *rng.random(50), np.nextafter(1.0, 0.0)]
        drawn = [
            quick.draw(k / 10, (k + 1) / 10, uniform) for k in range(10) for uniform in uniforms
        ]
        with monkeypatch.context() as patch:
            patch.setattr(weighted_draws, "_FULL_SORT_LIMIT", 0)
            assert drawn == [
                slow.draw(k / 10, (k + 1) / 10, uniform) for k in range(10) for uniform in uniforms
            ]
    assert (least > 1e-5) in sorted_soon


def test_weights_whose_sums_round_are_not_sorted_as_a_whole():
    assert SamplingWeights(np.array([1, 0.5], np.float32))._can_sort_fully
    assert not SamplingWeights(np.array([1, 2**-30], np.float32))._can_sort_fully
    assert not SamplingWeights(
        np.ones(weighted_draws._FULL_SORT_LIMIT + 1, np.float32)
    )._can_sort_fully
    assert not SamplingWeights(np.ones(3))._can_sort_fully


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=30).filter(any),
    st.integers(0, 9),
    st.integers(0, 63),
)
def test_whole_numbers_are_drawn_exactly(values, tenth, step):
    weights = np.array(values, dtype=np.float64)
    low = tenth / 10
    high = (tenth + 1) / 10
    drawn = SamplingWeights(weights).draw(low, high, step / 64)
    assert weights[drawn] > 0
    smaller = weights[weights < weights[drawn]].sum()
    upto = weights[weights <= weights[drawn]].sum()
    share = (low + step / 64 * (high - low)) * weights.sum()
    assert smaller <= share + 1e-9
    assert share < upto + 1e-9
