from __future__ import annotations

import cv2
import numpy as np
import pytest

from segarena.errors import InvalidMask
from segarena.systems.clicks.models.baseline_click_models import (
    DepthClickModel,
    SaliencyClickModel,
    contrast_saliency,
    uniform_click_map,
)

REFERENCE_MODELS = {
    "UD": uniform_click_map,
    "DT": DepthClickModel(),
    "SI": SaliencyClickModel(),
    "SM": SaliencyClickModel(background="grey"),
}


def scene():
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (60, 90, 3), dtype=np.uint8)
    target = np.zeros((60, 90), dtype=bool)
    target[0:30, 20:61] = True
    return image, target, target.astype(np.float32)


def brute_depth(inside, *, is_frame_edge):
    """Return the distance to the nearest pixel outside the error, one pixel at a time."""
    padded = np.pad(inside, 1) if is_frame_edge else inside
    off = np.argwhere(~padded)
    depth = np.zeros(inside.shape)
    for row, column in np.argwhere(inside):
        at = np.array([row, column]) + (1 if is_frame_edge else 0)
        depth[row, column] = np.sqrt(((off - at) ** 2).sum(axis=1).min())
    return depth / depth.max()


@pytest.mark.parametrize(("border", "is_frame_edge"), [("background", True), ("published", False)])
def test_depth_equals_the_nearest_pixel_off_the_error(border, is_frame_edge):
    image, target, error = scene()
    error[50:55, 80:90] = 1
    got = DepthClickModel(border=border)(image, target, error)
    np.testing.assert_allclose(got, brute_depth(error > 0, is_frame_edge=is_frame_edge), atol=1e-5)


def test_depth_takes_grey_errors_as_the_published_code():
    image, target, error = scene()
    error = error * np.linspace(0, 0.02, 90, dtype=np.float32)
    got = DepthClickModel(border="published")(image, target, error)
    expected = cv2.distanceTransform((error * 255).astype(np.uint8), cv2.DIST_L2, 0)
    np.testing.assert_allclose(got, expected / expected.max(), atol=1e-6)


def test_depth_of_a_whole_frame():
    image, target, _ = scene()
    whole = np.ones((60, 90), dtype=np.float32)
    assert (DepthClickModel(border="published")(image, target, whole) == 1).all()
    assert DepthClickModel()(image, target, whole)[0].max() == pytest.approx(1 / 30)


def test_uniform_is_the_error_divided_by_its_maximum():
    image, target, error = scene()
    np.testing.assert_array_equal(uniform_click_map(image, target, error), error)
    np.testing.assert_allclose(uniform_click_map(image, target, 0.25 * error), error)


def published_crop(error):
    """The published window, with its `max + 1` end."""
    rows, columns = np.where(error == 1)
    edges = []
    for where, length in ((rows, 60), (columns, 90)):
        size = where.max() - where.min() + 1
        margin = int((int(1.4 * size) - size) / 2)
        edges.append(
            slice(
                int(np.clip(where.min() - margin, 0, length)),
                int(np.clip(where.max() + margin, 0, length)) + 1,
            )
        )
    return tuple(edges)


@pytest.mark.parametrize("background", ["image", "grey"])
def test_saliency_sees_the_published_crop_and_is_confined_to_the_error(background):
    image, target, error = scene()
    seen = []

    def saliency(crop, window):
        seen.append((crop, window))
        return crop[:, :, 0].astype(np.float64)

    got = SaliencyClickModel(saliency, background=background)(image, target, error)
    window = published_crop(error)
    expected_crop = image[window].copy()
    if background == "grey":
        expected_crop[error[window] == 0] = int(0.5 * 255)
    assert (
        tuple(slice(s.start, min(s.stop, n)) for s, n in zip(window, (60, 90), strict=True))
        == seen[0][1]
    )
    np.testing.assert_array_equal(seen[0][0], expected_crop)
    expected = np.zeros((60, 90))
    expected[window] = image[window][:, :, 0] * error[window]
    np.testing.assert_allclose(got, expected / expected.sum(), rtol=1e-5)


def test_saliency_without_anything_that_stands_out_is_the_error():
    image, target, error = scene()
    got = SaliencyClickModel(lambda crop, window: np.zeros(crop.shape[:2]))(image, target, error)
    np.testing.assert_array_equal(got, error)


def test_saliency_of_an_all_grey_error_finds_its_box():
    image, target, error = scene()
    got = SaliencyClickModel()(image, target, 0.2 * error)
    assert got.sum() == pytest.approx(1, abs=1e-5)
    assert not got[error == 0].any()


@pytest.mark.parametrize("name", REFERENCE_MODELS)
def test_every_model_answers_an_empty_error_with_zeros(name):
    image, target, error = scene()
    got = REFERENCE_MODELS[name](image, target, np.zeros_like(error))
    assert got.shape == error.shape
    assert not got.any()
    with pytest.raises(InvalidMask, match="error mask"):
        REFERENCE_MODELS[name](image, target, np.zeros((2, 2, 2)))


@pytest.mark.parametrize("name", REFERENCE_MODELS)
def test_every_model_clicks_only_on_the_error(name):
    image, target, error = scene()
    got = REFERENCE_MODELS[name](image, target, error)
    assert got.dtype == np.float32
    assert (got >= 0).all()
    assert not got[error == 0].any()
    assert got.any()


def test_the_odd_colour_stands_out_and_one_colour_does_not():
    crop = np.full((40, 60, 3), (30, 120, 60), dtype=np.uint8)
    assert not contrast_saliency(crop, (slice(0, 40), slice(0, 60))).any()
    crop[10:14, 20:24] = (250, 20, 20)
    found = contrast_saliency(crop, (slice(0, 40), slice(0, 60)))
    assert np.unravel_index(found.argmax(), found.shape)[0] in range(9, 15)
    assert found[12, 22] > 10 * found[30, 50]
