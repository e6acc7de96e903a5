from __future__ import annotations

import math

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.statistics.intervals import bootstrap_mean
from segarena.systems.clicks.measures.noise_to_signal import (
    first_click_statistics,
    instance_hardness,
    noise_to_signal,
)


def test_noise_to_signal_is_deviation_over_mean():
    assert noise_to_signal([0.1, 0.2], [0.5, 0.8]) == pytest.approx([0.2, 0.25])
    assert noise_to_signal([0.5], [0.0], epsilon=1e-9) == pytest.approx([5e8])


def test_where_nothing_is_and_nothing_varies_there_is_no_noise():
    assert noise_to_signal([0.0, 0.1], [0.0, 0.2]).tolist() == [0.0, 0.5]
    assert noise_to_signal([0.0], [0.0], epsilon=1e-9).tolist() == [0.0]


@pytest.mark.parametrize(
    ("stds", "means"), [([0.1], [0.0]), ([0.1], [-0.5]), ([0.1], [0.5, 0.5]), ([0.1], [math.nan])]
)
def test_noise_without_signal_is_refused(stds, means):
    with pytest.raises(InvalidInput):
        noise_to_signal(stds, means)


def test_first_clicks_by_hand():
    # Means .5, .9; deviations .1, 0; ratios .2, 0. The second instance was clicked by nobody.
    statistics = first_click_statistics([[0.4, 0.6], [], [0.9, 0.9, 0.9]])
    assert statistics.mean.mean == pytest.approx(0.7)
    assert statistics.std.mean == pytest.approx(0.05)
    assert statistics.nsr.mean == pytest.approx(0.1)
    assert statistics.nsr.n == 2


def test_first_clicks_on_one_image_are_resampled_together():
    rng = np.random.default_rng(0)
    ious = [rng.random(rng.integers(0, 4)) for _ in range(30)]
    images = np.arange(30) // 2
    clicked = [index for index in range(30) if len(ious[index])]
    assert 0 < len(clicked) < 30
    expected = bootstrap_mean([ious[index].mean() for index in clicked], images[clicked])
    assert first_click_statistics(ious, images).mean == expected


def test_nobody_clicked_anything():
    assert math.isnan(first_click_statistics([[], []]).mean.mean)
    assert first_click_statistics([]).mean.n == 0


def test_the_published_ratio_has_an_epsilon():
    statistics = first_click_statistics([[0.0, 1e-9]], epsilon=1e-9)
    assert statistics.nsr.mean == pytest.approx(0.5e-9 / 1.5e-9)


def test_hardness_averages_over_segmenters_before_the_ratio():
    stds = [[0.1, 0.2], [0.3, 0.0]]
    means = [[0.2, 0.5], [0.6, 0.5]]
    assert instance_hardness(stds, means) == pytest.approx([0.5, 0.2])
