from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from segarena.systems.clicks.network.losses_and_schedule import (  # noqa: E402
    kl_divergence,
    learning_rate,
    map_correlation,
    map_similarity,
)


def maps(seed, count=3):
    return torch.rand(
        (count, 1, 7, 9), generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def test_divergence_equals_its_sum_written_out():
    predicted = maps(0)
    true = maps(1)
    for i, value in enumerate(kl_divergence(predicted, true).tolist()):
        p, t = (m[i].numpy() / m[i].numpy().sum() for m in (predicted, true))
        assert value == pytest.approx(float((t * np.log(t / p)).sum()), abs=1e-6)


def test_divergence_of_proportional_maps_is_zero_and_of_no_clicks_too():
    true = maps(0)
    np.testing.assert_allclose(kl_divergence(5 * true, true), 0, atol=1e-5)
    np.testing.assert_allclose(kl_divergence(true, torch.zeros_like(true)), 0, atol=1e-9)


def test_similarity_and_correlation_in_closed_form():
    left = torch.zeros(1, 1, 2, 4)
    right = torch.zeros(1, 1, 2, 4)
    left[..., :2] = 3
    right[..., 1:3] = 7
    assert map_similarity(left, right).item() == pytest.approx(0.5, abs=1e-6)
    assert map_similarity(left, left).item() == pytest.approx(1, abs=1e-6)
    assert map_correlation(left, right).item() == pytest.approx(0, abs=1e-6)
    assert map_correlation(left, 2 * left + 1).item() == pytest.approx(1, abs=1e-6)
    assert map_correlation(left, torch.ones_like(left)).item() == 0


def test_correlation_is_pearsons():
    predicted = maps(2)
    true = maps(3)
    expected = [
        np.corrcoef(p.ravel(), t.ravel())[0, 1]
        for p, t in zip(predicted.numpy(), true.numpy(), strict=True)
    ]
    np.testing.assert_allclose(map_correlation(predicted, true), expected, atol=1e-9)


def test_the_published_schedule_ends_at_two_and_a_half_percent():
    rates = [learning_rate(k, 1000, base=0.01, is_published=True) for k in range(1000)]
    assert rates[:3] == [0, 0, pytest.approx(0.0001)]
    assert max(rates) == pytest.approx(0.01)
    assert int(np.argmax(rates)) == 101
    assert rates[-1] == pytest.approx(0.01 * 0.5 * (1 + math.cos(math.pi * 898 / 1000)))
    assert rates[-1] == pytest.approx(2.4e-4, rel=0.07)


def test_our_schedule_warms_up_and_ends_near_zero():
    rates = [learning_rate(k, 200, base=0.5) for k in range(200)]
    assert rates[0] == pytest.approx(0.5 / 20)
    assert max(rates) == rates[19] == pytest.approx(0.5)
    assert 0 < rates[-1] < 1e-3
    assert all(a > b for a, b in itertools.pairwise(rates[19:]))


@pytest.mark.parametrize("is_published", [True, False])
def test_schedules_of_very_short_trainings_are_positive_and_bounded(is_published):
    for steps in (1, 2, 5, 11):
        rates = [learning_rate(k, steps, base=1.0, is_published=is_published) for k in range(steps)]
        assert all(0 <= rate <= 1 for rate in rates)
        assert max(rates) > 0
