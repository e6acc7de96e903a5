from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.ndimage import distance_transform_edt, gaussian_filter

from segarena.arrays import distance_transform
from segarena.arrays.distance_transform import deepest_pixel, squared_distance

small_masks = hnp.arrays(
    np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12)
)


def nearest_zero_by_hand(mask):
    """Return the squared distance to the nearest zero or the frame, from all pairs of pixels."""
    padded = np.pad(mask, 1)
    zeros, pixels = np.argwhere(~padded), np.argwhere(mask) + 1
    squared = np.zeros(mask.shape, dtype=np.int64)
    if len(pixels):
        squared[mask] = ((pixels[:, None, :] - zeros[None, :, :]) ** 2).sum(axis=2).min(axis=1)
    return squared


def rounded_transform(mask):
    return np.rint(distance_transform_edt(np.pad(mask, 1)) ** 2).astype(np.int64)[
        (slice(1, -1),) * mask.ndim
    ]


def first_maximum(squared, forbidden):
    squared = squared.copy()
    for position in forbidden:
        squared[position] = 0
    best = int(squared.argmax())
    return (
        None
        if not squared.flat[best]
        else (np.unravel_index(best, squared.shape), squared.flat[best])
    )


def random_mask(rng, side=48):
    shape = tuple(rng.integers(1, side, 2))
    kind = rng.integers(6)
    if kind == 0:  # noise of any density
        return rng.random(shape) < rng.random()
    if kind == 1:  # smooth blobs
        field = gaussian_filter(rng.random(shape), 3)
        return field > np.quantile(field, rng.random())
    if kind == 2:  # nearly everything
        return rng.random(shape) > 0.01
    if kind == 3:  # equal squares: many ties
        return (
            np.kron(rng.random((shape[0] // 5 + 1, shape[1] // 5 + 1)) < 0.7, np.ones((5, 5))) > 0
        )
    if kind == 4:  # stripes
        width = rng.integers(1, 9)
        return np.broadcast_to(np.arange(shape[1]) // width % 2 == 0, shape).copy()
    rows, columns = np.indices(shape)  # discs of the same radius
    radius = rng.integers(1, 10)
    mask = np.zeros(shape, dtype=bool)
    for row, column in rng.integers(0, shape, (4, 2)):
        mask |= (rows - row) ** 2 + (columns - column) ** 2 <= radius**2
    return mask


@given(small_masks)
def test_squared_distance_is_that_of_the_nearest_pixel_outside(mask):
    assert np.array_equal(squared_distance(mask), nearest_zero_by_hand(mask))


@given(hnp.arrays(np.bool_, hnp.array_shapes(min_dims=3, max_dims=3, max_side=5)))
def test_squared_distance_in_a_volume(mask):
    assert np.array_equal(squared_distance(mask), nearest_zero_by_hand(mask))


@pytest.mark.parametrize("holes", [0, 1, 5, 400])
def test_both_ways_to_the_squared_distance_agree_on_large_masks(monkeypatch, holes):
    mask = np.ones((600, 700), dtype=bool)
    mask.flat[np.random.default_rng(holes).integers(0, mask.size, holes)] = False
    quick = squared_distance(mask)
    monkeypatch.setattr(distance_transform, "_PRECISE_MAX_SIDE", 0)
    assert np.array_equal(quick, squared_distance(mask))


@pytest.fixture(params=["small masks by full transform", "small masks by search too"])
def way(request, monkeypatch):
    if "search" in request.param:
        monkeypatch.setattr(distance_transform, "_SMALL", 0)


@pytest.mark.long
@pytest.mark.usefixtures("way")
def test_deepest_pixel_equals_the_first_maximum_over_many_masks():
    rng = np.random.default_rng(20)
    for _ in range(700):
        mask = random_mask(rng)
        squared, clicked = rounded_transform(mask), []
        for _ in range(5):
            expected, found = (
                first_maximum(squared, clicked),
                deepest_pixel(mask, forbidden=clicked),
            )
            assert (found is None) == (expected is None)
            if found is None or expected is None:
                break
            assert found == expected
            assert all(isinstance(i, int) for i in found.position)
            clicked.append(found.position)


@given(
    hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9)),
    st.integers(1, 7),
    st.integers(0, 5),
)
def test_a_search_in_listed_edges_finds_the_first_maximum(blocks, side, clicks):
    # Blocks of equal size have equally deep pixels, of which the first must be found.
    mask = np.kron(blocks, np.ones((side, side), bool))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_SMALL", "_WIDE_PX", "_LISTED_PX"):
            patch.setattr(distance_transform, name, 0)
        clicked = []
        for _ in range(clicks + 1):
            expected = first_maximum(nearest_zero_by_hand(mask), clicked)
            found = deepest_pixel(mask, forbidden=clicked)
            assert found == expected
            if found is None:
                break
            clicked.append(found.position)


def test_deepest_pixel_of_larger_masks():
    rng = np.random.default_rng(21)
    for _ in range(60):
        mask = random_mask(rng, side=400)
        clicked = []
        for _ in range(3):
            expected, found = (
                first_maximum(squared_distance(mask), clicked),
                deepest_pixel(mask, forbidden=clicked),
            )
            assert found == expected
            if found is None:
                break
            clicked.append(found.position)


@pytest.mark.usefixtures("way")
def test_a_pixel_is_returned_only_from_the_wanted_depth_on():
    rng = np.random.default_rng(22)
    for _ in range(500):
        mask, at_least = random_mask(rng, side=20), int(rng.integers(1, 40))
        deepest = first_maximum(rounded_transform(mask), [])
        wanted = deepest if deepest is not None and deepest[1] >= at_least else None
        assert deepest_pixel(mask, at_least=at_least) == wanted


def test_giving_up_on_candidates_falls_back_to_the_full_transform(monkeypatch):
    monkeypatch.setattr(distance_transform, "_SMALL", 0)
    monkeypatch.setattr(distance_transform, "_search", lambda *_: None)
    rng = np.random.default_rng(5)
    for _ in range(100):
        mask = random_mask(rng)
        expected = first_maximum(rounded_transform(mask), [])
        assert deepest_pixel(mask) == expected


def test_deepest_voxel_of_a_volume():
    mask = np.zeros((9, 9, 9), dtype=bool)
    mask[1:8, 2:9, 0:7] = True
    assert deepest_pixel(mask) == ((4, 5, 3), 16)
    assert deepest_pixel(mask, forbidden=[(4, 5, 3)]) == ((3, 4, 2), 9)


def test_forbidden_pixels_still_belong_to_the_mask():
    mask = np.ones((5, 5), dtype=bool)
    assert deepest_pixel(mask) == ((2, 2), 9)
    assert deepest_pixel(mask, forbidden=[(2, 2)]) == ((1, 1), 4)


def test_forbidden_pixels_outside_the_mask_or_its_window_do_not_matter():
    mask = np.zeros((6, 6), dtype=bool)
    mask[2:5, 2:5] = True
    assert deepest_pixel(mask, forbidden=[(0, 0), (5, 5), (2, 0)]) == ((3, 3), 4)


def test_nothing_is_deepest_in_an_empty_or_fully_forbidden_mask():
    assert deepest_pixel(np.zeros((4, 4), dtype=bool)) is None
    assert deepest_pixel(np.zeros((0, 4), dtype=bool)) is None
    assert deepest_pixel(np.ones((1, 2), dtype=bool), forbidden=[(0, 0), (0, 1)]) is None


def test_a_whole_large_frame_is_deepest_at_its_centre():
    assert deepest_pixel(np.ones((480, 854), dtype=bool)) == ((239, 239), 240**2)


@pytest.mark.parametrize("name", ["_FAST_LOWEST", "_FAST_HIGHEST"])
def test_the_fast_distance_keeps_its_bounds(name):
    import cv2

    mask = np.ones((801, 801), dtype=np.uint8)
    mask[400, 400] = 0
    true = np.hypot(*(np.indices(mask.shape) - 400))
    ratio = cv2.distanceTransform(mask, cv2.DIST_L2, 5)[mask > 0] / true[mask > 0]
    extreme = {"_FAST_LOWEST": ratio.min(), "_FAST_HIGHEST": ratio.max()}[name]
    bound = getattr(distance_transform, name)
    assert extreme >= bound if name == "_FAST_LOWEST" else extreme <= bound
    assert extreme == pytest.approx(bound, abs=5e-4)
