from __future__ import annotations

import math

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.systems.volumes.measures.cvpr2025_scores import score_case


def test_case_is_the_mean_over_classes_and_the_area_leaves_the_box_out():
    dice = [[0.9, 0.2, 0.4, 0.6, 0.8, 1.0], [0.1, 0.4, 0.4, 0.4, 0.4, 0.4]]
    nsd = [[0.8, 0.1, 0.3, 0.5, 0.7, 0.9], [0.0, 0.3, 0.3, 0.3, 0.3, 0.3]]
    scores = score_case(dice, nsd)
    assert np.allclose(scores.dsc, [0.5, 0.3, 0.4, 0.5, 0.6, 0.7])
    assert math.isclose(scores.dsc_auc, 0.35 + 0.45 + 0.55 + 0.65)
    assert math.isclose(scores.nsd_auc, 0.25 + 0.35 + 0.45 + 0.55)
    assert math.isclose(scores.dsc_final, 0.7)
    assert math.isclose(scores.nsd_final, 0.6)


def test_perfect_case_has_area_four():
    assert score_case(np.ones((3, 6)), np.ones((3, 6))).dsc_auc == 4.0


def test_nsd_is_zero_where_the_mean_dice_is_not_above_a_fifth():
    dice = np.array([[0.0, 0.1, 0.2, 0.2, 0.21, 0.9]])
    nsd = np.full((1, 6), 0.5)
    assert score_case(dice, nsd).nsd.tolist() == [0, 0, 0, 0, 0.5, 0.5]
    assert score_case(dice, nsd, nsd_above_dsc=None).nsd.tolist() == [0.5] * 6


def test_class_that_is_empty_in_both_makes_the_step_nan():
    dice = np.ones((2, 6))
    dice[1, 3] = math.nan
    scores = score_case(dice, np.ones((2, 6)))
    assert np.isnan(scores.dsc).tolist() == [False, False, False, True, False, False]
    assert math.isnan(scores.dsc_auc)
    assert scores.dsc_final == 1.0


@pytest.mark.parametrize(
    ("dice", "nsd"), [((2, 4), (2, 4)), ((0, 6), (0, 6)), ((2, 6), (1, 6)), ((6,), (6,))]
)
def test_other_shapes_are_refused(dice, nsd):
    with pytest.raises(InvalidInput, match="at least one class and five steps"):
        score_case(np.ones(dice), np.ones(nsd))
