from __future__ import annotations

import math
from itertools import permutations

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.errors import InvalidInput, InvalidMask
from segarena.systems.volumes.measures.instance_dice import count_instances, lw_dice, paired_dice

MASKS = st.tuples(st.integers(0, 4), st.integers(0, 4)).flatmap(
    lambda n: hnp.arrays(np.bool_, (n[0] + n[1], 3, 2, 2), elements=st.booleans()).map(
        lambda masks: (masks[: n[0]], masks[n[0] :])
    )
)


def squares(*corners):
    masks = []
    for row, column in corners:
        mask = np.zeros((3, 12, 12), dtype=bool)
        mask[1, row : row + 4, column : column + 4] = True
        masks.append(mask)
    return masks


EMPTY = np.zeros((3, 12, 12), dtype=bool)


def slow_best_sum(dice):
    """Return the largest sum over all pairings of rows and columns."""
    if dice.shape[0] > dice.shape[1]:
        dice = dice.T
    columns = range(dice.shape[1])
    return max(
        sum(dice[i, j] for i, j in enumerate(chosen))
        for chosen in permutations(columns, dice.shape[0])
    )


@given(MASKS)
def test_counts_and_matching_equal_plain_ones(masks):
    predictions, targets = masks
    targets = [target for target in targets if target.any()]
    counts = count_instances(predictions, targets)
    for i, p in enumerate(predictions):
        for j, t in enumerate(targets):
            assert counts.intersections[i, j] == (p & t).sum()
            assert counts.dice[i, j] == 2 * (p & t).sum() / (p.sum() + t.sum())
    filled = [p for p in predictions if p.any()]
    value = lw_dice(counts)
    if not filled and not targets:
        assert math.isnan(value)
        return
    dice = count_instances(filled, targets).dice
    everything, pairs = len(filled) + len(targets), min(dice.shape)
    possible = [slow_best_sum(dice) / (everything - matched) for matched in range(pairs + 1)]
    assert any(math.isclose(value, one, abs_tol=1e-12) for one in possible)
    if (dice > 0).all():
        assert math.isclose(value, possible[pairs], abs_tol=1e-12)


def test_pairs_count_even_where_another_target_fits_better():
    one, other = squares((0, 0), (6, 6))
    swapped = count_instances([other, one], [one, other])
    assert paired_dice(swapped).tolist() == [0.0, 0.0]
    assert lw_dice(swapped) == 1.0


def test_one_perfect_and_one_empty_prediction_is_a_half_or_a_third_as_published():
    one, other = squares((0, 0), (6, 6))
    last = count_instances([one, EMPTY], [one, other])
    first = count_instances([EMPTY, other], [one, other])
    assert paired_dice(last).mean() == paired_dice(first).mean() == 0.5
    assert lw_dice(last) == lw_dice(first) == 0.5
    assert math.isclose(lw_dice(last, empty_predictions="published"), 1 / 3)
    assert lw_dice(first, empty_predictions="published") == 0.5


def test_prediction_without_partner_and_target_without_partner_add_a_zero_each():
    one, other, third = squares((0, 0), (0, 8), (8, 0))
    assert math.isclose(lw_dice(count_instances([one, third], [one, other])), 1 / 3)
    assert lw_dice(count_instances([], [one])) == 0.0
    assert lw_dice(count_instances([one], [])) == 0.0
    assert math.isnan(lw_dice(count_instances([], [])))
    assert math.isnan(lw_dice(count_instances([EMPTY], [])))


def test_overlapping_instances_keep_their_own_counts():
    one, other = squares((0, 0), (0, 2))
    counts = count_instances([one, other], [one, other])
    assert counts.intersections.tolist() == [[16, 8], [8, 16]]
    assert paired_dice(counts).tolist() == [1.0, 1.0]


def test_what_does_not_fit_together_is_refused():
    (one,) = squares((0, 0))
    with pytest.raises(InvalidInput, match="a prediction for each of 1 targets, got 0"):
        paired_dice(count_instances([], [one]))
    with pytest.raises(InvalidInput, match="expected nonempty targets"):
        count_instances([one], [EMPTY])
    with pytest.raises(InvalidMask, match="prediction: expected shape"):
        count_instances([one[:2]], [one])
    with pytest.raises(InvalidInput, match="'ignored' or 'published'"):
        lw_dice(count_instances([one], [one]), empty_predictions="counted")
