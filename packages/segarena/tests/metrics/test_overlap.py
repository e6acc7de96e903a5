from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from segarena.comparison import Comparison
from segarena.errors import InvalidMask
from segarena.metrics.overlap import Dice, Iou, dice, iou, precision, recall
from segarena.registry import build


@st.composite
def triples(draw):
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=3, max_side=6))
    return tuple(draw(hnp.arrays(np.bool_, shape)) for _ in range(3))


@given(triples())
def test_iou_and_dice_equal_counting_pixel_by_pixel(masks):
    prediction, target, ignore = masks
    pairs = [
        (p, t) for p, t, i in zip(*(mask.ravel().tolist() for mask in masks), strict=True) if not i
    ]
    both, either = sum(p and t for p, t in pairs), sum(p or t for p, t in pairs)
    assert iou(prediction, target, ignore) == (both / either if either else 1.0)
    assert dice(prediction, target, ignore) == (2 * both / (both + either) if either else 1.0)
    predicted, wanted = sum(p for p, _ in pairs), sum(t for _, t in pairs)
    assert precision(prediction, target, ignore) == (both / max(predicted, 1) if either else 1.0)
    assert recall(prediction, target, ignore) == (both / max(wanted, 1) if either else 1.0)
    if precision(prediction, target, ignore) and recall(prediction, target, ignore):
        means = 2 / (
            1 / precision(prediction, target, ignore) + 1 / recall(prediction, target, ignore)
        )
        assert dice(prediction, target, ignore) == pytest.approx(means)


@given(triples())
def test_every_count_can_be_read_from_the_record(masks):
    prediction, target, ignore = masks
    record = Iou()(Comparison.of(prediction, target, ignore))
    assert tuple(record) == Iou.columns
    assert record["intersection"] == np.count_nonzero(prediction & target & ~ignore)
    assert record["union"] == np.count_nonzero((prediction | target) & ~ignore)
    assert record["prediction_area"] == np.count_nonzero(prediction & ~ignore)
    assert record["target_area"] == np.count_nonzero(target & ~ignore)


@given(triples())
def test_missing_and_surplus_are_the_errors_that_are_judged(masks):
    prediction, target, ignore = masks
    comparison = Comparison.of(prediction, target, ignore)
    for given_errors, expected, area in (
        (comparison.missing, target & ~prediction & ~ignore, comparison.missing_area),
        (comparison.surplus, prediction & ~target & ~ignore, comparison.surplus_area),
    ):
        frame = np.zeros(target.shape, dtype=bool)
        frame[comparison.window] = given_errors
        assert np.array_equal(frame, expected)
        assert area == np.count_nonzero(expected)


@given(triples())
def test_overlap_is_symmetric_and_does_not_change_when_flipped(masks):
    prediction, target, ignore = masks
    value = iou(prediction, target, ignore)
    assert value == iou(target, prediction, ignore)
    assert value == iou(prediction[::-1, ::-1], target[::-1, ::-1], ignore[::-1, ::-1])
    assert 0 <= value <= 1


def test_iou_of_two_empty_masks_is_one_or_as_asked():
    empty = np.zeros((3, 3), dtype=bool)
    assert iou(empty, empty) == 1.0
    assert iou(empty, empty, empty=0.0) == 0.0
    assert math.isnan(iou(empty, empty, empty=math.nan))
    assert math.isnan(dice(empty, empty, empty=math.nan))


def test_masks_that_differ_only_where_ignored_count_as_empty():
    full = np.ones((3, 3), dtype=bool)
    assert math.isnan(iou(full, ~full, full, empty=math.nan))


def test_empty_prediction_of_a_target_has_no_overlap():
    full = np.ones((3, 3), dtype=bool)
    assert iou(~full, full) == iou(full, ~full) == dice(full, ~full) == 0.0


def test_numbers_zero_and_one_are_masks_and_others_are_not():
    assert iou([[1, 0]], [[1, 1]]) == 0.5
    with pytest.raises(InvalidMask, match="threshold"):
        iou([[0.5, 0]], [[1, 1]])
    with pytest.raises(InvalidMask, match="shape"):
        iou([[1, 0]], [[1], [1]])


def test_nan_for_empty_masks_can_be_written_as_an_option():
    nothing = Comparison.of([[0]], [[0]])
    assert math.isnan(build("metric", "iou(empty='nan')")(nothing)["iou"])
    assert math.isnan(Dice(empty="nan")(nothing))
