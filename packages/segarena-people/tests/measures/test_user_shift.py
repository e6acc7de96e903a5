"""The four measures of user shift, compared with values by hand and loops over components."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt, label

from segarena.errors import InvalidInput
from segarena_people.measures.user_shift import (
    BEHAVIOUR_MEASURES,
    compute_user_shift,
    measure_behaviour,
)

TARGET = np.zeros((9, 30), bool)
TARGET[1:6, 1:6] = True  # three deep
TARGET[1:8, 10:17] = True  # four deep
TARGET[2, 25] = True


def slow(positions, signs, target):
    labels, count = label(target, np.ones((3,) * target.ndim))
    depth = distance_transform_edt(np.pad(target, 1))[(slice(1, -1),) * target.ndim]
    agreeing = [bool(target[place]) == sign for place, sign in zip(positions, signs, strict=True)]
    hits = [place for place, sign in zip(positions, signs, strict=True) if sign and target[place]]
    shares = [depth[place] / depth[labels == labels[place]].max() for place in hits]
    found = {labels[place] for place in hits}
    return [np.mean(agreeing), np.mean(shares), len(found) / min(count, len(hits))]


@pytest.mark.parametrize("shape", [(12, 15), (6, 9, 8)])
def test_equals_loops_over_marks(shape):
    rng = np.random.default_rng(len(shape))
    for _ in range(6):
        target = rng.random(shape) < 0.35
        places = [place for place in product(*map(range, shape)) if rng.random() < 0.05]
        places.append(tuple(map(int, np.argwhere(target)[0])))
        signs = [*(rng.random(len(places) - 1) < 0.5).tolist(), True]
        assert measure_behaviour(places, signs, target) == pytest.approx(
            slow(places, signs, target)
        )


def test_conformity_counts_both_kinds_of_marks():
    assert (
        measure_behaviour([[3, 3], [0, 0], [0, 0], [3, 3]], [True, True, False, False], TARGET)[0]
        == 0.5
    )


def test_centredness_is_one_in_the_middle_of_any_component_and_low_at_its_edge():
    assert measure_behaviour([[3, 3], [4, 13], [2, 25]], [True] * 3, TARGET)[1] == 1
    assert measure_behaviour([[1, 1], [1, 10]], [True] * 2, TARGET)[1] == pytest.approx(
        (1 / 3 + 1 / 4) / 2
    )


def test_diversity_is_of_the_components_that_could_be_marked():
    def diversity(*places):
        return measure_behaviour(places, [True] * len(places), TARGET)[2]

    assert diversity([3, 3]) == 1
    assert diversity([3, 3], [4, 13]) == 1
    assert diversity([3, 3], [3, 4]) == 0.5
    assert diversity([3, 3], [3, 4], [3, 2], [4, 13]) == pytest.approx(2 / 3)
    assert diversity([3, 3], [4, 13], [2, 25], [3, 2]) == 1


def test_what_is_not_there_is_not_a_number():
    assert np.isnan(measure_behaviour(np.empty((0, 2)), [], TARGET)).all()
    nowhere = measure_behaviour([[0, 0], [3, 3]], [True, False], TARGET)
    assert nowhere[0] == 0
    assert np.isnan(nowhere[1:]).all()
    assert np.isnan(measure_behaviour([[0, 0]], [False], np.zeros((4, 4), bool))[1:]).all()
    assert len(BEHAVIOUR_MEASURES) == 3


def test_shift_is_simulated_less_people_with_an_interval_over_groups():
    rng = np.random.default_rng(2)
    people = rng.normal(0.6, 0.1, (40, 2))
    simulated = people + np.array([0.2, 0.0]) + rng.normal(0, 0.05, (40, 2))
    first, second = compute_user_shift(simulated, people, np.repeat(np.arange(20), 2))
    assert first.difference == pytest.approx(np.mean(simulated[:, 0] - people[:, 0]))
    assert 0 < first.low < first.difference < first.high
    assert first.p_value < 0.01 < second.p_value
    assert (first.n, first.clusters) == (40, 20)


def test_dialogues_in_which_one_of_the_two_has_no_value_are_left_out():
    (shift,) = compute_user_shift([[1.0], [math.nan], [0.5]], [[0.5], [0.5], [math.nan]])
    assert (shift.difference, shift.n) == (0.5, 1)


@pytest.mark.parametrize(
    "measure",
    [
        lambda: measure_behaviour([[1, 1]], [True, False], TARGET),
        lambda: measure_behaviour([[1, 30]], [True], TARGET),
        lambda: measure_behaviour([[-1, 3]], [True], TARGET),
        lambda: compute_user_shift([[1.0]], [[1.0, 2.0]]),
    ],
)
def test_what_does_not_fit_is_refused(measure):
    with pytest.raises(InvalidInput, match="expected"):
        measure()
