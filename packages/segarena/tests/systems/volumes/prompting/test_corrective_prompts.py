"""Correcting clicks and lassos, compared with slow references on full volumes."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage

from segarena.comparison import Comparison
from segarena.dialogue import Dialogue, Lift
from segarena.prompts import Box, Click, Limits, check_prompt
from segarena.systems.volumes.prompting.corrective_prompts import (
    click_largest_error,
    click_wrong_pixels,
    click_wrong_voxel,
    is_solved,
    lasso_largest_error,
    prompted_slices,
    restrict_to_patch,
)
from segarena.systems.volumes.prompting.scribbles import line_through_missing


def blobs(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 22, 3))
    fields = [ndimage.gaussian_filter(rng.random(shape), rng.uniform(0.5, 2)) for _ in range(2)]
    return tuple(field >= np.quantile(field, rng.uniform(0.3, 1)) for field in fields)


PAIRS = st.one_of(
    st.integers(0, 10_000).map(blobs),
    hnp.array_shapes(min_dims=3, max_dims=3, max_side=5).flatmap(
        lambda shape: st.tuples(hnp.arrays(np.bool_, shape), hnp.arrays(np.bool_, shape))
    ),
)


def random(seed):
    return np.random.default_rng(seed)


@given(PAIRS)
def test_nothing_is_said_when_all_is_right(pair):
    _, target = pair
    comparison = Comparison.of(target, target)
    assert is_solved(comparison)
    assert click_wrong_pixels(comparison, range(len(target)), random(0)) == ()
    assert click_wrong_voxel(comparison, random(0)) == ()
    assert click_largest_error(comparison, random(0)) == ()
    assert lasso_largest_error(comparison) == ()


def slow_deepest(prediction, target):
    """The evaluation script's rule on the full volume."""
    labels, count = ndimage.label(prediction ^ target, np.ones((3, 3, 3)))
    parts = [labels == label for label in range(1, count + 1)]
    parts.sort(key=lambda part: (-part.sum(), np.flatnonzero(part)[0]))
    depth = ndimage.distance_transform_edt(np.pad(parts[0], 1))[1:-1, 1:-1, 1:-1]
    return {tuple(position) for position in np.argwhere(depth == depth.max()).tolist()}


@given(PAIRS, st.integers(0, 99))
def test_click_is_in_the_middle_of_the_largest_error(pair, seed):
    prediction, target = pair
    clicks = click_largest_error(Comparison.of(prediction, target), random(seed))
    if np.array_equal(prediction, target):
        assert clicks == ()
        return
    (click,) = clicks
    assert click.position in slow_deepest(prediction, target)
    assert click.is_positive == target[click.position]


@pytest.mark.parametrize(
    "step",
    [
        lambda error: click_largest_error(error, random(0)),
        lasso_largest_error,
        line_through_missing,
    ],
    ids=["click", "lasso", "scribble"],
)
def test_errors_that_fill_a_volume_take_less_than_two_bytes_a_voxel(step):
    target = np.ones((70, 130, 130), dtype=bool)
    first, second = (Comparison.of(np.zeros_like(target), target) for _ in range(2))
    step(first)  # imports
    tracemalloc.start()
    step(second)
    assert tracemalloc.get_traced_memory()[1] < 2 * target.size
    tracemalloc.stop()


def test_every_deepest_voxel_may_be_clicked():
    target = np.zeros((6, 12, 12), dtype=bool)
    target[1:5, 2:6, 2:10] = True
    comparison = Comparison.of(np.zeros_like(target), target)
    clicked = {click_largest_error(comparison, random(seed))[0].position for seed in range(300)}
    assert clicked == slow_deepest(np.zeros_like(target), target)


def test_of_equal_errors_the_first_is_clicked():
    target = np.zeros((9, 9, 9), dtype=bool)
    target[1:4, 5:8, 5:8] = target[5:8, 1:4, 1:4] = True
    for seed in range(5):
        assert click_largest_error(Comparison.of(np.zeros_like(target), target), random(seed))[
            0
        ].position == (
            2,
            6,
            6,
        )


def test_missing_and_surplus_that_touch_are_one_error():
    target, prediction = np.zeros((5, 9, 30), dtype=bool), np.zeros((5, 9, 30), dtype=bool)
    target[:, :, :5] = True
    prediction[:, :, 5:9] = True
    prediction[:, :, 15:22] = True  # larger than either part, smaller than both
    (click,) = click_largest_error(Comparison.of(prediction, target), random(1))
    assert click.position[2] < 9


@given(PAIRS, st.integers(0, 99), st.booleans())
def test_one_wrong_pixel_of_each_slice_is_corrected(pair, seed, one_fraction):
    prediction, target = pair
    slices = [z for z in range(len(target)) if z % 3]
    clicks = click_wrong_pixels(
        Comparison.of(prediction, target), slices, random(seed), one_fraction=one_fraction
    )
    assert [c.position[0] for c in clicks] == [
        z for z in slices if (prediction[z] ^ target[z]).any()
    ]
    assert all(prediction[c.position] != target[c.position] == c.is_positive for c in clicks)
    if one_fraction:
        fraction = random(seed).random()
        for click in clicks:
            z = click.position[0]
            wrong = np.argwhere(prediction[z] ^ target[z]).tolist()
            assert list(click.position[1:]) == wrong[int(fraction * len(wrong))]


@given(PAIRS, st.integers(0, 99))
def test_a_wrong_voxel_is_corrected(pair, seed):
    prediction, target = pair
    clicks = click_wrong_voxel(Comparison.of(prediction, target), random(seed))
    assert len(clicks) == (not np.array_equal(prediction, target))
    assert all(prediction[c.position] != target[c.position] == c.is_positive for c in clicks)


def test_every_wrong_voxel_is_as_likely():
    prediction, target = np.zeros((4, 5, 5), dtype=bool), np.zeros((4, 5, 5), dtype=bool)
    target[1, 1, 1:3] = prediction[2, 3, 1:4] = True
    comparison, rng = Comparison.of(prediction, target), random(0)
    counts = Counter(click_wrong_voxel(comparison, rng)[0].position for _ in range(2000))
    assert set(counts) == set(map(tuple, np.argwhere(prediction ^ target).tolist()))
    assert min(counts.values()) > 320


def test_patch_keeps_what_is_near():
    target = np.zeros((4, 4, 400), dtype=bool)
    target[2, 2] = True
    comparison = restrict_to_patch(
        Comparison.of(np.zeros_like(target), target, spacing_mm=(1.0, 1.0, 2.0)), (2, 2, 100)
    )
    assert np.flatnonzero(comparison.target[2, 2]).tolist() == list(range(52, 148))
    assert comparison.target_area == 96
    assert comparison.spacing_mm == (1.0, 1.0, 2.0)


@given(PAIRS, st.integers(0, 99))
def test_patch_is_a_crop_of_both_masks(pair, seed):
    prediction, target = pair
    rng = random(seed)
    centre = tuple(int(rng.integers(n)) for n in target.shape)
    spacing_mm = tuple(rng.uniform(5, 60, 3))
    patch = restrict_to_patch(Comparison.of(prediction, target, spacing_mm=spacing_mm), centre)
    distance = [
        (np.arange(n) - c) * mm for n, c, mm in zip(target.shape, centre, spacing_mm, strict=True)
    ]
    inside = np.logical_and.reduce(
        np.meshgrid(*[(d >= -96) & (d < 96) for d in distance], indexing="ij")
    )
    assert np.array_equal(patch.prediction, prediction & inside)
    assert np.array_equal(patch.target, target & inside)


@given(PAIRS)
def test_lasso_surrounds_the_largest_piece_of_the_larger_error(pair):
    prediction, target = pair
    lassos = lasso_largest_error(Comparison.of(prediction, target))
    if np.array_equal(prediction, target):
        assert lassos == ()
        return
    (lasso,) = lassos
    check_prompt(lasso, target.shape)
    missing, surplus = target & ~prediction, prediction & ~target
    assert lasso.is_positive == (missing.sum() >= surplus.sum())
    errors = missing if lasso.is_positive else surplus
    labels, count = ndimage.label(errors, np.ones((3, 3, 3)))
    parts = sorted(
        (labels == n for n in range(1, count + 1)),
        key=lambda part: (-part.sum(), np.flatnonzero(part)[0]),
    )
    plane = int(parts[0].sum(axis=(1, 2)).argmax())
    pieces, count = ndimage.label(parts[0][plane], np.ones((3, 3)))
    pieces = sorted(
        (pieces == n for n in range(1, count + 1)), key=lambda p: (-p.sum(), np.flatnonzero(p)[0])
    )
    assert {point[0] for point in lasso.points} == {plane}
    inside, whole = enclosed(lasso, target.shape), ndimage.binary_fill_holes(pieces[0])
    assert not (inside & (target[plane] != lasso.is_positive)).any()
    if not (whole & (target[plane] != lasso.is_positive)).any():
        assert np.array_equal(inside, whole)
    assert (inside & errors[plane]).any()


def enclosed(lasso, shape):
    filled = np.zeros(shape[1:], dtype=np.uint8)
    cv2.fillPoly(filled, [np.array([[x, y] for _, y, x in lasso.points], dtype=np.int32)], 1)
    return filled.astype(bool)


def test_lasso_around_a_shell_leaves_the_object_out():
    target, prediction = np.zeros((5, 30, 30), dtype=bool), np.zeros((5, 30, 30), dtype=bool)
    target[1:4, 10:20, 10:20] = True
    prediction[1:4, 5:25, 5:27] = True
    (lasso,) = lasso_largest_error(Comparison.of(prediction, target))
    inside = enclosed(lasso, target.shape)
    assert not (inside & target[1]).any()
    assert inside.sum() == 12 * 20 - 5 * 10  # what lies right of a cut through column 14


@pytest.mark.parametrize(
    ("prompts", "spread", "expected"),
    [
        ((Click((2, 0, 0)), Click((5, 0, 0)), Click((2, 1, 1))), "stay", [2, 5]),
        ((Click((2, 0, 0)), Click((5, 0, 0))), "interpolate", [2, 3, 4, 5]),
        ((Box((3, 0, 0), (4, 2, 2)), Box((1, 0, 0), (2, 2, 2))), "interpolate", [1, 2, 3]),
        ((Box((3, 0, 0), (4, 2, 2)), Limits(1, 5)), "propagate", [1, 2, 3, 4, 5]),
        ((Box((3, 0, 0), (6, 2, 2)),), "extrude", [3, 4, 5]),
        ((), "stay", []),
    ],
)
def test_prompted_slices_are_those_given_and_those_between(prompts, spread, expected):
    dialogue = Dialogue(lift=Lift(spread=spread)).ask(prompts).ask((Click((9, 0, 0)),))
    assert list(prompted_slices(dialogue)) == expected
