"""Comparisons, which use windows, checked with full-frame arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from segarena import Target
from segarena.comparison import Comparison, Reference
from segarena.errors import InvalidMask


@st.composite
def masks(draw):
    """Prediction, target and ignore of one shape; often empty, often in a corner."""
    shape = draw(npst.array_shapes(min_dims=2, max_dims=3, max_side=8))
    drawn = []
    for _ in range(3):
        mask = draw(npst.arrays(np.bool_, shape))
        corner = tuple(slice(draw(st.integers(0, n)), None) for n in shape)
        kept = np.zeros(shape, dtype=bool)
        kept[corner] = mask[corner]
        drawn.append(kept)
    prediction, target, ignore = drawn
    return prediction, target, draw(st.sampled_from([None, ignore]))


def full_frame(part, comparison):
    whole = np.zeros(comparison.target.shape, dtype=bool)
    whole[comparison.window] = part
    return whole


@given(masks())
def test_counts_equal_those_of_the_full_frame(drawn):
    prediction, target, ignore = drawn
    judged = np.ones(target.shape, dtype=bool) if ignore is None else ~ignore
    comparison = Comparison.of(prediction, target, ignore)
    assert comparison.intersection == (prediction & target & judged).sum()
    assert comparison.union == ((prediction | target) & judged).sum()
    assert comparison.prediction_area == (prediction & judged).sum()
    assert comparison.target_area == (target & judged).sum()
    assert comparison.missing_area == (target & ~prediction & judged).sum()
    assert comparison.surplus_area == (prediction & ~target & judged).sum()


@given(masks())
def test_masks_and_errors_equal_those_of_the_full_frame(drawn):
    prediction, target, ignore = drawn
    judged = np.ones(target.shape, dtype=bool) if ignore is None else ~ignore
    comparison = Comparison.of(prediction, target, ignore)
    assert (comparison.prediction == (prediction & judged)).all()
    assert (comparison.target == (target & judged)).all()
    assert (comparison.given == prediction).all()
    assert (comparison.reference.given == target).all()
    assert (full_frame(comparison.missing, comparison) == (target & ~prediction & judged)).all()
    assert (full_frame(comparison.surplus, comparison) == (prediction & ~target & judged)).all()


@given(masks())
def test_the_order_of_the_questions_does_not_matter(drawn):
    names = (
        "intersection",
        "union",
        "prediction_area",
        "target_area",
        "missing_area",
        "surplus_area",
    )
    one, other = Comparison.of(*drawn), Comparison.of(*drawn)
    forwards = [getattr(one, name) for name in names]
    backwards = [getattr(other, name) for name in reversed(names)]
    assert forwards == backwards[::-1]
    assert (one.missing == other.missing).all()


@given(masks())
def test_one_reference_serves_many_predictions(drawn):
    prediction, target, ignore = drawn
    reference = Reference(target, ignore)
    shared = [Comparison(mask, reference) for mask in (prediction, ~prediction, target)]
    fresh = [Comparison.of(mask, target, ignore) for mask in (prediction, ~prediction, target)]
    assert [c.intersection for c in shared] == [c.intersection for c in fresh]
    assert shared[2].missing_area == shared[2].surplus_area == 0


@given(masks())
def test_inputs_are_not_changed(drawn):
    before = [None if mask is None else mask.copy() for mask in drawn]
    comparison = Comparison.of(*drawn)
    _ = comparison.missing, comparison.surplus, comparison.union
    assert all(
        (a is None and b is None) or (a == b).all() for a, b in zip(before, drawn, strict=True)
    )


def test_two_empty_masks_differ_nowhere():
    nothing = np.zeros((3, 4), dtype=bool)
    comparison = Comparison.of(nothing, nothing)
    assert comparison.union == comparison.missing_area == comparison.surplus_area == 0
    assert not comparison.missing.any()
    assert not comparison.surplus.any()


def test_a_reference_of_a_target_takes_its_ignored_pixels():
    mask, ignore = np.ones((2, 2), dtype=bool), np.array([[True, False], [False, False]])
    reference = Reference.of(Target(id="t", mask=mask, ignore=ignore))
    assert reference.area == 3
    assert reference.shape == (2, 2)
    assert not reference.mask[0, 0]


def test_a_reference_computes_what_it_remembers_once():
    reference = Reference(np.ones((2, 2), dtype=bool))
    calls = []
    answers = [reference.remember("key", lambda: calls.append(1) or len(calls)) for _ in range(3)]
    assert answers == [1, 1, 1]
    assert reference.remember("other", lambda: "new") == "new"


@pytest.mark.parametrize(
    ("prediction", "target", "ignore", "message"),
    [
        (
            np.zeros((2, 3)),
            np.zeros((3, 2)),
            None,
            r"prediction: expected the target's shape \(3, 2\), got \(2, 3\)",
        ),
        (
            np.zeros((2, 3)),
            np.zeros((2, 3)),
            np.zeros((3, 2)),
            r"ignore: expected shape \(2, 3\), got \(3, 2\)",
        ),
        (np.full((2, 3), 2), np.zeros((2, 3)), None, "prediction: expected only 0 and 1"),
        (np.zeros((2, 3)), np.full((2, 3), 0.5), None, "target: expected only 0 and 1"),
        (np.full((2, 3), np.nan), np.zeros((2, 3)), None, "prediction: contains NaN"),
    ],
)
def test_masks_that_cannot_be_compared_are_refused(prediction, target, ignore, message):
    with pytest.raises(InvalidMask, match=message):
        Comparison.of(prediction, target, ignore)
