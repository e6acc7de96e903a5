"""Depths of a mask's pixels, compared with the distance transform of its window and with all pairs of pixels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.ndimage import binary_dilation, distance_transform_edt, gaussian_filter

from segarena.arrays import pixel_depths as module
from segarena.arrays.pixel_depths import (
    PixelDepths,
    pixel_depths,
    position_of_pixel,
    thin_mask_depths,
)

small_masks = hnp.arrays(
    np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=12)
)


@pytest.fixture
def always(monkeypatch):
    """Nothing is too thick."""
    monkeypatch.setattr(module, "_THIN", 0)
    monkeypatch.setattr(module, "_VISIT_NS", 0)
    monkeypatch.setattr(module, "_SMALL", 0)


def by_pairs(mask):
    padded = np.pad(mask, 1)
    zeros, pixels = np.argwhere(~padded), np.argwhere(mask) + 1
    return (
        ((pixels[:, None, :] - zeros[None, :, :]) ** 2).sum(axis=2).min(axis=1)
        if len(pixels)
        else []
    )


def by_transform(mask):
    inner = (slice(1, -1),) * mask.ndim
    return np.rint(distance_transform_edt(np.pad(mask, 1))[inner] ** 2)[mask].astype(int)


def agrees(found, mask, expected):
    """Check pixels by their positions, and depths."""
    positions = [found.position(place) for place in range(len(found.pixels))]
    assert positions == [tuple(position) for position in np.argwhere(mask).tolist()]
    assert found.squared.tolist() == list(expected)


def outlines(rng):
    """Lines around smooth regions, of one pixel to a dozen, some as long as the frame."""
    shape = tuple(rng.integers(70, 200, 2))
    field = gaussian_filter(rng.random(shape), rng.integers(2, 9))
    region = field > np.quantile(field, rng.random())
    return binary_dilation(region, iterations=int(rng.integers(1, 7))) & ~region


@given(small_masks)
def test_depths_are_distances_to_the_nearest_pixel_outside(mask):
    agrees(pixel_depths(mask), mask, by_pairs(mask))


@pytest.mark.usefixtures("always")
def test_every_image_could_be_taken_for_a_thin_one():
    @given(small_masks)
    def holds(mask):
        agrees(thin_mask_depths(mask)[0], mask, by_pairs(mask))

    holds()


def test_outlines_have_the_depths_of_a_transform():
    rng = np.random.default_rng(30)
    thin = 0
    for _ in range(120):
        mask = outlines(rng)
        (found,) = thin_mask_depths(mask)
        if found is not None:
            thin += 1
            agrees(found, mask, by_transform(mask))
    assert thin > 20


def test_masks_at_once_have_the_depths_that_each_has_alone():
    rng = np.random.default_rng(31)
    kinds = set()
    for _ in range(60):
        first = outlines(rng)
        second, third = rng.random(first.shape) < rng.random() / 4, np.zeros(first.shape, bool)
        third[2:-5, 3:9] = True
        found = thin_mask_depths(first, second, third)
        for mask, one in zip((first, second, third), found, strict=True):
            kinds.add(one is None)
            if one is not None:
                agrees(one, mask, by_transform(mask))
    assert kinds == {True, False}


@given(hnp.arrays(np.bool_, hnp.array_shapes(min_dims=3, max_dims=3, max_side=5)))
def test_depths_in_a_volume(mask):
    assert thin_mask_depths(mask) == [None]
    agrees(pixel_depths(mask), mask, by_pairs(mask))


@pytest.mark.parametrize(
    "mask",
    [
        np.ones((40, 40), bool),
        np.hypot(*(np.indices((400, 400)) - 200)) // 60 == 1,
        np.ones((1, 1 << 16), bool),
    ],
    ids=["a square", "a broad ring", "a line longer than can be squared"],
)
def test_what_is_not_thin_is_left_to_a_transform(mask):
    assert thin_mask_depths(mask) == [None]


@given(small_masks.filter(lambda mask: mask.any()), st.data())
def test_the_first_of_the_deepest_is_found_and_forbidden_pixels_are_passed_over(mask, data):
    positions = [tuple(map(int, position)) for position in np.argwhere(mask)]
    forbidden = data.draw(st.sets(st.sampled_from(positions)))
    found = pixel_depths(mask)
    before = found.squared.copy()
    place = found.deepest(forbidden)
    allowed = [
        (-squared, each)
        for squared, each in zip(by_pairs(mask), positions, strict=True)
        if each not in forbidden
    ]
    assert (None if place is None else found.position(place)) == (
        min(allowed)[1] if allowed else None
    )
    assert (found.squared == before).all()


def test_nothing_is_deepest_where_nothing_is():
    assert pixel_depths(np.zeros((3, 4), bool)).deepest() is None
    assert PixelDepths((), np.zeros(0, int), np.zeros(0, int)).deepest({(0, 0)}) is None


@given(st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)), st.data())
def test_a_place_in_a_window_is_found_in_the_whole(shape, data):
    starts = data.draw(st.tuples(*[st.integers(0, 5)] * 3))
    pixel = data.draw(st.integers(0, int(np.prod(shape)) - 1))
    window = tuple(slice(start, start + n) for start, n in zip(starts, shape, strict=True))
    expected = np.unravel_index(pixel, shape) + np.array(starts)
    assert position_of_pixel(window, pixel) == tuple(expected)
