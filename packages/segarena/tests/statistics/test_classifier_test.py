"""The classifier two-sample test, on samples with known results."""

import sys

import numpy as np
import pytest

from segarena.errors import InvalidInput, MissingExtra
from segarena.statistics import classifier_test
from segarena.statistics.classifier_test import c2st
from segarena.statistics.roc import area_under_roc

pytest.importorskip("sklearn")

RNG = np.random.default_rng


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch):
    """A sufficient number for these tests."""
    monkeypatch.setattr(classifier_test, "_TREES", 25)


def test_samples_far_apart_are_always_told_apart():
    rng = RNG(1)
    images = np.arange(30)
    found = c2st(rng.normal(size=(30, 2)), rng.normal(20, size=(30, 2)), (images, images), splits=1)
    assert (found.auc, found.low, found.high) == (1, 1, 1)
    assert (found.n, found.groups) == (30, 30)


@pytest.mark.long
def test_samples_of_one_distribution_are_told_apart_by_chance_only():
    areas = []
    for seed in range(8):
        first, second = RNG(seed).normal(size=(2, 50, 3))
        areas.append(
            c2st(first, second, (np.arange(50), np.arange(50)), repeats=1, splits=1, seed=seed).auc
        )
    # The standard deviation of one area is about .06, of the mean of eight about .02.
    assert np.mean(areas) == pytest.approx(0.5, abs=0.08)


def test_a_known_shift_is_told_apart_about_as_well_as_can_be():
    rng = RNG(2)
    first, second = rng.normal(size=(400, 1)), rng.normal(1.4, size=(400, 1))
    found = c2st(first, second, (np.arange(400), np.arange(400, 800)), repeats=200)
    # Nobody does better than Phi(1.4 / sqrt 2) = .839 but by chance.
    assert 0.76 < found.auc < 0.86
    assert found.low < found.auc < found.high


def test_what_is_said_is_of_values_that_were_not_learnt_from():
    """Groups that can be recognised by features that do not generalize to other groups."""
    rng = RNG(3)
    groups = np.repeat(np.arange(20), 10)
    place = groups * 10.0 + rng.normal(0, 0.1, 200)
    sign = np.where(rng.random(20) < 0.5, -1, 1)[groups]
    first, second = np.stack([place, sign * 1.0], 1), np.stack([place, -sign * 1.0], 1)
    by_group = c2st(first, second, (groups, groups), repeats=1, splits=1).auc
    leaking = c2st(first, second, (np.arange(200), np.arange(200)), repeats=1, splits=1).auc
    assert leaking > 0.85
    assert by_group < 0.7


def test_an_interval_over_few_groups_is_wider():
    rng = RNG(4)
    first, second = rng.normal(size=(100, 2)), rng.normal(0.8, size=(100, 2))
    first[:, 0] += np.repeat(rng.normal(0, 1.5, 10), 10)
    groups = np.repeat(np.arange(10), 10)
    apart = np.arange(100)
    few, many = (c2st(first, second, (ids, ids), splits=1) for ids in (groups, apart))
    assert few.high - few.low > many.high - many.low


def test_as_many_of_either_are_drawn_and_named():
    rng = RNG(6)
    first, second = rng.normal(size=(40, 2)), rng.normal(size=(23, 2))
    found = c2st(first, second, (np.arange(40), np.arange(23)), n=20, repeats=1, splits=1)
    assert [len(np.unique(rows)) for rows in found.rows] == [20, 20]
    assert [said.shape for said in found.said] == [(20,), (20,)]


@pytest.mark.long
def test_the_area_is_the_mean_over_splits_each_of_another_seed():
    rng = RNG(9)
    first, second = rng.normal(size=(60, 1)), rng.normal(0.7, size=(60, 1))
    groups = np.arange(60), np.arange(60)
    each = [c2st(first, second, groups, repeats=1, splits=1, seed=seed) for seed in range(3)]
    together = c2st(first, second, groups, repeats=1, splits=3)
    assert together.auc == pytest.approx(np.mean([test.auc for test in each]))
    assert together.said[1] == pytest.approx(np.mean([test.said[1] for test in each], axis=0))
    assert all(test.auc == pytest.approx(area_under_roc(*test.said)) for test in each)


def test_few_values_can_be_told_apart_too():
    rng = RNG(10)
    first, second = rng.normal(size=(15, 1)), rng.normal(4, size=(15, 1))
    groups = np.arange(15), np.arange(15)
    assert c2st(first, second, groups, repeats=1, splits=1).auc > 0.9
    assert (
        c2st(first, second, groups, repeats=1, splits=1, least_in_leaf=20).auc < 0.7
    )  # no cut leaves twenty on both sides


@pytest.mark.long
def test_the_same_seed_gives_the_same_and_another_one_another():
    rng = RNG(7)
    first, second = rng.normal(size=(40, 2)), rng.normal(0.5, size=(40, 2))
    groups = np.arange(40), np.arange(40)
    one, again, other = (
        c2st(first, second, groups, exchanges=1, splits=1, seed=seed) for seed in (0, 0, 1)
    )
    assert (one.auc, one.low, one.high, one.lost.tolist()) == (
        again.auc,
        again.low,
        again.high,
        again.lost.tolist(),
    )
    assert one.auc != other.auc


@pytest.mark.long
def test_the_feature_that_tells_is_the_one_that_is_missed():
    rng = RNG(8)
    first, second = rng.normal(size=(2, 80, 3))
    second[:, 1] += 3
    lost = c2st(first, second, (np.arange(80), np.arange(80)), exchanges=2, splits=2).lost
    assert lost.argmax() == 1
    assert lost[1] > 0.3
    assert np.abs(lost[[0, 2]]).max() < 0.05


FINE = np.zeros((10, 2))
IDS = np.arange(10)


@pytest.mark.parametrize(
    ("first", "groups", "options", "said"),
    [
        (np.zeros((10, 3)), (IDS, IDS), {}, "k"),
        (np.full((10, 2), np.nan), (IDS, IDS), {}, "NaN"),
        (FINE, (IDS, IDS[:9]), {}, "one for each value"),
        (FINE, (IDS % 4, IDS % 4), {}, "5 or more"),
        (FINE, (IDS, IDS), {"n": 11}, "got 11"),
        (FINE, (IDS, IDS), {"n": 4}, "expected 5 to 10"),
        (FINE, (IDS, IDS), {"level": 1}, "level"),
        (FINE, (IDS, IDS), {"splits": 0}, "splits"),
        (FINE, (IDS * 0, IDS + 1), {}, "in a single group"),
    ],
)
def test_what_cannot_be_tested_is_refused(first, groups, options, said):
    with pytest.raises(InvalidInput, match=said):
        c2st(first, FINE, groups, **options)


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(MissingExtra, match=r'pip install "segarena\[people\]"'):
        c2st(FINE, FINE, (IDS, IDS))
