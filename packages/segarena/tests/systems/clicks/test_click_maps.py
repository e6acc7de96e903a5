from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter

from segarena.errors import InvalidInput, InvalidMask
from segarena.systems.clicks.click_maps import (
    blur_sigma_px,
    click_map,
    click_radius_px,
    error_mask,
    smooth_mask,
)


def plain_click_map(positions, error, sigma, smoothing_px):
    """Plain implementation: blur the whole frame, smooth the whole mask."""
    height, width = error.shape
    blur = sigma * math.sqrt(height**2 + width**2) / math.sqrt(1920**2 + 1080**2)
    canvas = np.zeros((height, width), dtype=np.float32)
    for row, column in positions:
        canvas[row, column] += 255 * 2 * math.pi * blur**2 / len(positions)
    side = math.ceil(7 * blur)
    if side % 2 == 0:
        side += 1
    canvas = cv2.GaussianBlur(
        canvas, (side, side), sigmaX=blur, sigmaY=blur, borderType=cv2.BORDER_CONSTANT
    )
    return canvas / canvas.max() * gaussian_filter(error.astype(np.float32), smoothing_px)


def blob(shape):
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    away = ((rows - shape[0] / 2) / (shape[0] / 3)) ** 2 + (
        (columns - shape[1] / 3) / (shape[1] / 3)
    ) ** 2
    return away < 1 + 0.3 * np.sin(columns / 9) * np.cos(rows / 7)


@pytest.mark.parametrize("shape", [(97, 133), (240, 320), (31, 500)])
@pytest.mark.parametrize("sigma", [0.01, 1.0, 5.0, 30.0, 120.0])
@pytest.mark.parametrize("rule", ["paper", "published"])
def test_click_map_equals_blurring_the_whole_frame(shape, sigma, rule):
    rng = np.random.default_rng(3)
    positions = np.stack([rng.integers(0, n, 40) for n in shape], axis=1)
    positions[:5] = positions[5:10]  # clicks coincide
    error = blob(shape)
    expected = plain_click_map(positions, error, sigma, click_radius_px(shape, rule))
    got = click_map(positions, error, sigma=sigma, radius=rule, normalise="none")
    assert got.dtype == np.float32
    assert np.abs(got - expected).max() <= 1e-6 * expected.max()
    some = expected > 1e-20
    assert (np.abs(got - expected)[some] / expected[some]).max() < 2e-6


def test_click_map_on_a_large_frame_equals_blurring_it():
    shape = (1100, 900)
    rng = np.random.default_rng(0)
    positions = np.stack([rng.integers(300, 800, 50), rng.integers(0, 500, 50)], axis=1)
    expected = plain_click_map(positions, blob(shape), 5.0, click_radius_px(shape, "published"))
    got = click_map(positions, blob(shape), radius="published", normalise="none")
    assert np.abs(got - expected).max() <= 1e-6


@given(
    shape=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    sigma_px=st.sampled_from([0.0, 0.1, 0.7, 3.0, 4.0, 22.03]),
    seed=st.integers(0, 99),
    is_grey=st.booleans(),
)
def test_smooth_mask_equals_scipy_for_any_mask(shape, sigma_px, seed, is_grey):
    values = np.random.default_rng(seed).random(shape)
    mask = values.astype(np.float32) if is_grey else values > 0.8
    expected = (
        gaussian_filter(mask.astype(np.float64), sigma_px) if sigma_px else mask.astype(np.float64)
    )
    np.testing.assert_allclose(smooth_mask(mask, sigma_px), expected, atol=2e-7, rtol=1e-6)


def test_smooth_mask_over_several_tiles_equals_scipy():
    mask = blob((500, 430))
    np.testing.assert_allclose(
        smooth_mask(mask, 6.0), gaussian_filter(mask.astype(np.float64), 6.0), atol=2e-7
    )


def test_click_map_sums_to_one_unless_told_otherwise():
    positions = np.array([[40, 40], [50, 45]])
    error = blob((100, 120))
    summed = click_map(positions, error)
    raw = click_map(positions, error, normalise="none")
    assert summed.sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(summed, raw / raw.sum(), rtol=1e-5, atol=1e-12)
    assert raw.max() <= 1


def test_click_map_of_clicks_far_from_the_error_is_zero():
    error = np.zeros((400, 400), dtype=bool)
    error[:20, :20] = True
    assert not click_map(np.array([[390, 390]]), error).any()


def test_click_map_of_one_click_deep_inside_peaks_there_with_one():
    error = np.zeros((200, 300), dtype=bool)
    error[10:190, 10:290] = True
    got = click_map(np.array([[100, 150]]), error, normalise="none")
    assert np.unravel_index(got.argmax(), got.shape) == (100, 150)
    assert got.max() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(got[100, 150 - 7 : 150], got[100, 157:150:-1], rtol=1e-6)


@pytest.mark.parametrize(
    ("shape", "published"),
    [((480, 854), 6), ((1080, 1920), 15), ((1365, 2048), 17), ((375, 500), 4), ((99, 100), 0)],
)
def test_click_radius_of_the_published_code(shape, published):
    assert click_radius_px(shape, "published") == published
    assert click_radius_px(shape) == pytest.approx(0.01 * math.hypot(*shape))


def test_blur_is_in_pixels_of_a_full_hd_image():
    assert blur_sigma_px((1080, 1920)) == pytest.approx(5.0)
    assert blur_sigma_px((540, 960), 2.0) == pytest.approx(1.0)


def test_error_mask_of_each_round():
    target = np.array([[True, True, False, False]])
    previous = np.array([[1.0, 0.25, 0.75, 0.0]])
    np.testing.assert_array_equal(error_mask(target, None, "first"), [[1, 1, 0, 0]])
    np.testing.assert_allclose(error_mask(target, previous, "fn"), [[0, 0.75, 0, 0]])
    np.testing.assert_allclose(error_mask(target, previous, "fp"), [[0, 0, 0.75, 0]])


def test_error_mask_says_what_is_wrong():
    target = np.ones((2, 2), dtype=bool)
    with pytest.raises(InvalidInput, match="previous mask"):
        error_mask(target, None, "fn")
    with pytest.raises(InvalidInput, match="'first', 'fn' or 'fp'"):
        error_mask(target, target, "tp")
    with pytest.raises(InvalidMask, match=r"expected shape \(2, 2\)"):
        error_mask(target, np.ones((2, 3)), "fp")


@pytest.mark.parametrize(
    "positions",
    [np.zeros((0, 2), dtype=int), np.array([[0.5, 1.0]]), np.array([[0, 50]]), np.array([[-1, 0]])],
)
def test_click_map_refuses_no_clicks_fractions_and_clicks_outside(positions):
    with pytest.raises(InvalidInput, match="click"):
        click_map(positions, np.ones((50, 50), dtype=bool))


@pytest.mark.parametrize(
    "error", [np.ones((3, 3, 3)), np.full((3, 3), 1.5), np.full((3, 3), np.nan), np.zeros((0, 3))]
)
def test_click_map_refuses_what_is_not_an_error_mask(error):
    with pytest.raises(InvalidMask, match="error mask"):
        click_map(np.array([[0, 0]]), error)
