from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage

from segarena.arrays.connected_components import largest_component
from segarena.arrays.lazy_volume import LazyVolume

MASKS = st.integers(2, 3).flatmap(
    lambda axes: hnp.arrays(np.bool_, hnp.array_shapes(min_dims=axes, max_dims=axes, max_side=9))
)


def slow_largest(mask, ties):
    labels, count = ndimage.label(mask, np.ones((3,) * mask.ndim))
    components = [labels == label for label in range(1, count + 1)]
    components.sort(key=lambda part: np.flatnonzero(part)[0], reverse=ties == "last")
    return max(components, key=np.count_nonzero, default=None)  # max keeps the first of equals


def whole(component, shape):
    mask = np.zeros(shape, dtype=bool)
    mask[component.window] = component.mask
    return mask


@given(mask=MASKS, ties=st.sampled_from(["first", "last"]))
def test_largest_component_is_that_of_a_plain_labelling(mask, ties):
    expected, found = slow_largest(mask, ties), largest_component(mask, ties=ties)
    assert (found is None) == (expected is None)
    if found is not None:
        assert np.array_equal(whole(found, mask.shape), expected)
        assert all(found.mask.any(axis=axis).any() for axis in range(mask.ndim))


@pytest.mark.parametrize("density", [0.05, 0.15, 0.3, 0.6])
@pytest.mark.parametrize("shape", [(40, 30), (12, 14, 16), (1, 20, 20), (20, 1, 20), (20, 20, 1)])
def test_largest_component_of_noise(density, shape):
    for seed in range(5):
        mask = np.random.default_rng(seed).random(shape) < density
        for ties in ("first", "last"):
            assert np.array_equal(
                whole(largest_component(mask, ties=ties), shape), slow_largest(mask, ties)
            )


@pytest.mark.parametrize("density", [0.0, 0.001, 0.03, 0.5])
@pytest.mark.parametrize("ties", ["first", "last"])
def test_largest_component_of_a_large_noisy_volume(density, ties):
    shape = (70, 130, 130)
    mask = np.random.default_rng(1).random(shape) < density
    for plane, row, column in (
        ((3, 4, 5), (60, 100, 10)) if 0 < density < 0.1 else ()
    ):  # two of equal size
        mask[plane - 1 : plane + 2, row - 1 : row + 2, column - 1 : column + 101] = False
        mask[plane, row, column : column + 100] = True
    found = largest_component(mask, ties=ties)
    labels, count = ndimage.label(mask, np.ones((3, 3, 3)))
    if not count:
        assert found is None
        return
    sizes = np.bincount(labels.ravel())[1:]
    equals = 1 + np.flatnonzero(sizes == sizes.max())
    firsts = [int(np.argmax(labels.ravel() == label)) for label in equals]
    label = equals[firsts.index(min(firsts) if ties == "first" else max(firsts))]
    assert np.array_equal(whole(found, shape), labels == label)


@pytest.mark.parametrize(
    "shape", [(1, 1100, 1000), (2, 800, 700), (1100, 1, 1000), (1100, 1000, 1)]
)
def test_largest_component_of_thin_noisy_volumes(shape):
    mask = np.random.default_rng(2).random(shape) < 0.2
    labels = ndimage.label(mask, np.ones((3, 3, 3)))[0]
    sizes = np.bincount(labels.ravel())[1:]
    assert (sizes == sizes.max()).sum() == 1
    assert np.array_equal(whole(largest_component(mask), shape), labels == 1 + sizes.argmax())


@given(st.integers(0, 10**6), st.floats(0, 1), st.sampled_from(["first", "last"]))
def test_planes_that_are_made_have_the_same_largest_component(seed, share, ties):
    rng = np.random.default_rng(seed)
    one, other = rng.random((2, *rng.integers(1, 8, 3))) < share
    made, whole_mask = (
        largest_component(LazyVolume(np.greater, one, other), ties=ties),
        one & ~other,
    )
    assert (made is None) == (not whole_mask.any())
    if made is not None:
        assert np.array_equal(whole(made, one.shape), slow_largest(whole_mask, ties))


def test_components_joined_late_are_one():
    snake = np.zeros((3, 5, 9), dtype=bool)
    snake[0, 0], snake[0, 4], snake[0, 2], snake[2, 2, 4] = True, True, True, True
    snake[0, 1, 8] = snake[1, 3, 0] = True  # the second and third line touch by corners only
    assert largest_component(snake, ties="first").mask.sum() == 9 + 1 + 9 + 1 + 9


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 0, 0), (2, 3, 0), (2, 0, 3)])
def test_nothing_has_no_component(shape):
    assert largest_component(np.zeros(shape, dtype=bool)) is None


def test_window_is_tight():
    mask = np.zeros((6, 7, 8), dtype=bool)
    mask[2:4, 3:5, 1:7] = True
    assert largest_component(mask).window == (slice(2, 4), slice(3, 5), slice(1, 7))


@pytest.mark.parametrize("density", [0.03, 0.5, 1])
def test_memory_stays_below_the_volume(density):
    mask = np.random.default_rng(3).random((70, 130, 130)) < density
    largest_component(mask)
    tracemalloc.start()
    largest_component(mask)
    assert tracemalloc.get_traced_memory()[1] < 2 * mask.size
    tracemalloc.stop()
