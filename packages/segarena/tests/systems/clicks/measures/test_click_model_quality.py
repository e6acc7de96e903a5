from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from segarena.errors import InvalidInput
from segarena.statistics.ks2d import ks2d
from segarena.systems.clicks.measures.click_model_quality import (
    click_model_quality,
    draw_clicks,
    mean_quality,
)
from segarena.systems.clicks.measures.click_set_distances import (
    compare_click_sets,
    pairwise_l1,
    wasserstein,
)

BOX = (30, 40)
maps = hnp.arrays(np.float64, (4, 5), elements=st.sampled_from([0.0, 0.1, 1.0, 7.5])).filter(np.any)


def rng(seed=0):
    return np.random.default_rng(seed)


def nss(probability, clicks, **rules):
    return click_model_quality(probability, clicks, BOX, rng(), draws=1, **rules).nss


def pde(probability, clicks, **rules):
    return click_model_quality(probability, clicks, BOX, rng(), draws=1, **rules).pde


def blob(shape=(48, 64), centre=(20, 30), sigma=6.0):
    rows, columns = np.indices(shape)
    return np.exp(-((rows - centre[0]) ** 2 + (columns - centre[1]) ** 2) / (2 * sigma**2))


@given(maps)
def test_pixels_of_probability_0_are_never_drawn(probability):
    rows, columns = draw_clicks(probability, 200, rng()).T
    assert (probability[rows, columns] > 0).all()


def test_pixels_are_drawn_as_often_as_the_map_says():
    probability = np.array([[0.0, 1.0, 2.0], [5.0, 0.0, 2.0]])
    counts = np.zeros((2, 3))
    np.add.at(counts, tuple(draw_clicks(probability, 40_000, rng(1)).T), 1)
    # Standard deviation of each share is at most 0.0025.
    assert counts / 40_000 == pytest.approx(probability / 10, abs=0.01)


def test_drawing_equals_numpys_choice_for_the_same_uniform_numbers():
    probability = rng(3).random((7, 9))
    flat = np.random.RandomState(42).choice(63, size=50, p=probability.ravel() / probability.sum())
    drawn = draw_clicks(probability, 50, np.random.RandomState(42))
    assert (drawn[:, 0] * 9 + drawn[:, 1]).tolist() == flat.tolist()


@given(maps, st.sampled_from([1e-3, 255.0]))
def test_the_scale_of_the_map_does_not_matter(probability, factor):
    clicks = [[0, 0], [3, 4], [1, 2]]
    for function in (nss, pde):
        assert function(probability * factor, clicks) == pytest.approx(
            function(probability, clicks)
        )


def test_nss_by_hand():
    # Mean 1/4 of (1, 0, 0, 0), population deviation sqrt(3)/4: at the peak sqrt(3), elsewhere -1/sqrt(3).
    probability = np.array([[3.0, 0.0], [0.0, 0.0]])
    assert nss(probability, [[0, 0]]) == pytest.approx(math.sqrt(3))
    assert nss(probability, [[0, 0], [1, 1]]) == pytest.approx(1 / math.sqrt(3))


def test_published_nss_and_pde_add_a_billionth():
    probability = blob() * 1e-6
    clicks = [[20, 30], [40, 50]]
    total = probability.sum() + 1e-9
    shares = probability / total
    expected = np.mean([(shares[r, c] - shares.mean()) / (shares.std() + 1e-9) for r, c in clicks])
    published = nss(probability, clicks, protocol="published")
    assert published == pytest.approx(expected, rel=1e-12)
    assert published < nss(probability, clicks) * (1 - 1e-7)
    published = pde(probability, clicks, protocol="published")
    assert published == pytest.approx(
        np.mean([probability[r, c] / total for r, c in clicks]), rel=1e-12
    )
    assert published < pde(probability, clicks)


def test_nss_of_every_pixel_is_0_and_so_is_that_of_a_constant_map():
    everywhere = np.argwhere(np.ones((12, 16)))
    assert nss(blob((12, 16), (5, 7), sigma=2.0), everywhere) == pytest.approx(0, abs=1e-12)
    assert nss(np.full((3, 3), 0.1), [[0, 0]]) == 0
    assert nss(np.full((3, 3), 0.1), [[0, 0]], protocol="published") == 0


def test_pde_by_hand():
    assert pde([[1, 3], [0, 4]], [[0, 0], [1, 1]]) == pytest.approx((1 / 8 + 4 / 8) / 2)


@pytest.mark.parametrize("click", [[-3, 70], [50, -1]])
def test_clicks_outside_are_refused(click):
    with pytest.raises(InvalidInput, match="outside"):
        click_model_quality(blob(), [click], BOX, rng())


def test_all_five_equal_their_definitions_over_the_same_draws():
    probability = blob()
    clicks = draw_clicks(blob(centre=(22, 33)), 20, rng(5))
    quality = click_model_quality(probability, clicks, BOX, rng(6), draws=30)
    drawn = draw_clicks(probability, 600, rng(6)).reshape(30, 20, 2)
    assert quality.pl1 == pytest.approx(np.mean([pairwise_l1(own, clicks, BOX) for own in drawn]))
    assert quality.wd == pytest.approx(np.mean([wasserstein(own, clicks, BOX) for own in drawn]))
    assert quality.ks == pytest.approx(
        np.mean([ks2d(own, clicks).p_values[0] > 0.05 for own in drawn])
    )
    at_clicks = probability[clicks[:, 0], clicks[:, 1]]
    assert quality.nss == pytest.approx((at_clicks.mean() - probability.mean()) / probability.std())
    assert quality.pde == pytest.approx((at_clicks / probability.sum()).mean())
    assert quality.clicks == 20
    in_sides = click_model_quality(
        probability, clicks, BOX, rng(6), draws=30, normalise="box_sides"
    )
    assert in_sides.wd == pytest.approx(
        np.mean([wasserstein(own, clicks, BOX, normalise="box_sides") for own in drawn])
    )


def test_the_true_model_beats_a_wrong_one_in_every_metric():
    clicks = draw_clicks(blob(), 50, rng(8))
    right = click_model_quality(blob(), clicks, BOX, rng(1))
    wrong = click_model_quality(blob(centre=(30, 20), sigma=10), clicks, BOX, rng(1))
    assert right.pl1 < wrong.pl1
    assert right.wd < wrong.wd
    assert right.ks > 0.8
    assert wrong.ks < 0.05
    assert right.nss > wrong.nss
    assert right.pde > wrong.pde


def test_draws_from_the_true_model_pass_about_as_often_as_the_level_says():
    shares = [
        click_model_quality(blob(), draw_clicks(blob(), 50, rng(s)), BOX, rng(100 + s)).ks
        for s in range(20)
    ]
    assert 0.8 < np.mean(shares) <= 1


def test_clicks_in_one_line_count_as_told_apart():
    assert click_model_quality(blob(), [[20, 30], [20, 31], [20, 29]], BOX, rng()).ks == 0
    assert click_model_quality(blob(), [[20, 30]], BOX, rng()).ks == 0


@pytest.mark.parametrize(
    "probability",
    [
        np.zeros((3, 3)),
        np.full((3, 3), np.nan),
        -np.eye(3),
        np.ones(9),
        np.ones((0, 3)),
        np.ones((3, 3, 3)),
    ],
)
def test_what_is_not_a_map_is_refused(probability):
    with pytest.raises(InvalidInput, match="map"):
        draw_clicks(probability, 3, rng())
    with pytest.raises(InvalidInput, match="map"):
        nss(probability, [[0, 0]])


def test_fractions_of_pixels_no_clicks_and_no_draws_are_refused():
    with pytest.raises(InvalidInput, match="whole pixels"):
        pde(blob(), [[0.5, 1]])
    with pytest.raises(InvalidInput, match="clicks"):
        pde(blob(), [])
    with pytest.raises(InvalidInput, match="draws"):
        click_model_quality(blob(), [[1, 1]], BOX, rng(), draws=0)


def test_instances_weigh_the_same_however_many_clicks_they_have():
    rows = [
        click_model_quality(blob(), draw_clicks(blob(), n, rng(n)), BOX, rng(), draws=5)
        for n in (5, 50, 11)
    ]
    means = mean_quality(rows)
    assert list(means) == ["pl1", "wd", "ks", "nss", "pde"]
    for name, interval in means.items():
        values = [getattr(row, name) for row in rows]
        assert interval.mean == pytest.approx(sum(values) / 3)
        rounding = 1e-12
        assert min(values) - rounding <= interval.low <= interval.high <= max(values) + rounding
        assert interval.n == 3


def test_targets_of_one_image_are_resampled_together():
    rows = [click_model_quality(blob(), [[20, 30], [s, 31]], BOX, rng(), draws=2) for s in (10, 20)]
    assert math.isnan(mean_quality(rows, ["a", "a"])["nss"].low)


def test_click_sets_are_averaged_too_and_their_p_values_are_not():
    points = draw_clicks(blob(), 12, rng())
    means = mean_quality([compare_click_sets(points, points, BOX)] * 4)
    assert list(means) == ["pl1", "wd", "ks"]
    assert (means["wd"].mean, means["ks"].mean) == (0, 1)
    assert mean_quality([]) == {}
