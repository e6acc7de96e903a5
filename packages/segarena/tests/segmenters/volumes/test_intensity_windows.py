"""How published models are fed, held against plain readings of what RadioActive's code does with NumPy and torch."""

import cv2
import numpy as np
import pytest

from segarena.errors import InvalidImage
from segarena.segmenters.volumes.intensity_windows import (
    medsam_slice,
    percentile_range,
    sam_med2d_slice,
    sam_med3d_crop,
    scribbleprompt_slice,
    segvol_volume,
    segvol_zoomed_out,
    slice_range,
    to_grey,
    z_normal,
)

_DRAWN = np.random.default_rng(1)
CT = _DRAWN.normal(-200, 400, (6, 50, 40)).astype(np.int16)
MR = np.where(_DRAWN.random((50, 40)) < 0.4, 0, _DRAWN.gamma(3, 100, (50, 40))).astype(np.float32)


@pytest.mark.parametrize(
    "dtype", [np.int16, np.uint8, np.int8, np.uint16, np.int32, np.float32, np.float64]
)
@pytest.mark.parametrize("shape", [(6, 50, 40), (50, 40), (7,)])
def test_percentiles_are_those_of_all_values(dtype, shape, rng):
    values = rng.integers(0, 120, shape).astype(dtype)
    for percentiles in ((0.5, 99.5), (0, 100), (33.3, 66.6)):
        np.testing.assert_allclose(
            percentile_range(values, *percentiles), np.percentile(values, percentiles)
        )


def test_percentiles_of_extreme_integers_do_not_overflow():
    values = np.array([-32768, 32767, 0, 5], np.int16)
    # NumPy's own percentile of int16 does.
    np.testing.assert_allclose(
        percentile_range(values), np.percentile(values.astype(np.float64), (0.5, 99.5))
    )


def test_percentiles_of_nothing_are_zero():
    assert percentile_range(np.zeros((0,), np.int16)) == (0, 0)


def test_not_a_number_is_named():
    with pytest.raises(InvalidImage, match="NaN"):
        percentile_range(np.array([1.0, np.nan]))
    with pytest.raises(InvalidImage, match="NaN"):
        to_grey(np.array([[1.0, np.nan]]), (0, 1))


def test_the_published_rule_throws_negative_values_of_ct_away():
    plane = CT[0]
    assert slice_range(plane, is_published=True) == pytest.approx(
        np.percentile(plane[plane > 0], (0.5, 99.5))
    )
    low, _ = slice_range(plane)
    assert low < -800
    assert slice_range(MR) == slice_range(
        MR, is_published=True
    )  # the background is 0, and nothing below it


def test_a_slice_without_foreground_has_no_range():
    assert slice_range(np.full((4, 4), -1000), is_published=True) == (0, 0)
    assert slice_range(np.full((4, 4), 7)) == (0, 0)
    assert not to_grey(np.full((4, 4), 7), (0, 0)).any()


def test_grey_levels_are_rounded_and_clipped():
    np.testing.assert_array_equal(
        to_grey(np.array([[-5, 0, 1, 2, 509, 999]]), (0, 510)), [[0, 0, 0, 1, 254, 255]]
    )


@pytest.mark.parametrize("is_published", [False, True])
def test_medsam_sees_a_square_from_zero_to_one(is_published):
    given = medsam_slice(CT[0], side=64, is_published=is_published)
    plane = CT[0].astype(np.float64)
    floor = 0 if is_published else plane.min()
    clipped = np.clip(plane, *np.percentile(plane[plane > floor], (0.5, 99.5)))
    want = cv2.resize(np.dstack([clipped] * 3), (64, 64), interpolation=cv2.INTER_CUBIC)
    want = (want - want.min()) / (want.max() - want.min())
    assert given.shape == (64, 64, 3)
    assert given.min() == 0
    assert given.max() == 1
    np.testing.assert_allclose(given, want, atol=1e-6)


def test_sam_med2d_sees_normalised_nearest_neighbours():
    given = sam_med2d_slice(CT[0], is_published=True)
    plane = CT[0].astype(np.float64)
    clipped = np.clip(plane, *np.percentile(plane[plane > 0], (0.5, 99.5)))
    grey = np.round((clipped - clipped.min()) / (clipped.max() - clipped.min() + 1e-6) * 255)
    rows, columns = (np.arange(256) * n // 256 for n in plane.shape)
    want = (grey[np.ix_(rows, columns)][..., None] - [123.675, 116.28, 103.53]) / [
        58.395,
        57.12,
        57.375,
    ]
    np.testing.assert_allclose(given, want, atol=1e-5)


def test_scribbleprompt_sees_what_torch_would_make():
    torch = pytest.importorskip("torch")
    given = scribbleprompt_slice(CT[0])
    plane = CT[0].astype(np.float32)
    unit = torch.from_numpy((plane - plane.min()) / (plane.max() - plane.min()))[None, None]
    want = torch.nn.functional.interpolate(unit, size=(128, 128), mode="bilinear")[0, 0].numpy()
    np.testing.assert_allclose(given, want, atol=1e-6)
    assert not scribbleprompt_slice(np.full((9, 9), 5.0)).any()


@pytest.mark.parametrize("centre", [(3, 25, 20), (0, 0, 0), (200, 25, 20)])
def test_the_cube_of_sam_med3d_holds_the_scan_where_it_reaches(centre):
    cube, there, here = sam_med3d_crop(CT, centre)
    assert cube.shape == (128, 128, 128)
    low, high = np.percentile(CT, (0.5, 99.5))
    want = np.zeros((128, 128, 128))
    for plane in range(CT.shape[0]):
        target = plane - (centre[0] - 64)
        if 0 <= target < 128:
            rows, columns = 64 - centre[1], 64 - centre[2]
            want[target, rows : rows + 50, columns : columns + 40] = np.clip(CT[plane], low, high)
    positive = want[want > 0]
    if len(positive):
        want = (want - positive.mean()) / positive.std(ddof=1)
    np.testing.assert_allclose(cube, want, atol=1e-4)
    assert cube[here].shape == CT[there].shape


def test_nothing_positive_is_left_as_it_is():
    np.testing.assert_array_equal(z_normal(np.full((2, 2), -3.0)), np.full((2, 2), -3.0))


@pytest.mark.parametrize("shape", [(6, 50, 40), (40, 300, 20), (33, 257, 258)])
def test_segvol_sees_padded_and_cropped_foreground(shape, rng):
    scan = rng.normal(-200, 400, shape)
    crop, there, here = segvol_volume(scan)
    bright = scan[scan > scan.mean()]
    clipped = np.clip(scan, *np.percentile(bright, (0.05, 99.95)))
    normal = (clipped - bright.mean()) / bright.std()
    unit = (normal - normal.min()) / (normal.max() - normal.min())
    pads = [
        (max(0, least - n) // 2, max(0, least - n) - max(0, least - n) // 2)
        for least, n in zip((32, 256, 256), shape, strict=True)
    ]
    padded = np.pad(unit, pads)
    ends = np.argwhere(padded > 0)
    want = padded[
        tuple(slice(a, b + 1) for a, b in zip(ends.min(axis=0), ends.max(axis=0), strict=True))
    ]
    np.testing.assert_allclose(crop, want, atol=1e-6)
    np.testing.assert_allclose(crop[here], unit[there], atol=1e-6)
    # What is cut off can be put back: only the darkest voxels, all of the same value, lie outside.
    outside = np.ones(shape, bool)
    outside[there] = False
    assert np.allclose(unit[outside], 0)


def test_segvol_of_a_scan_of_one_value_is_the_whole_padded_scan():
    crop, there, _ = segvol_volume(np.full((4, 5, 6), 3))
    assert crop.shape == (32, 256, 256)
    assert there == (slice(0, 4), slice(0, 5), slice(0, 6))


def test_segvol_zooms_out_to_nearest_voxels_as_torch_does(rng):
    torch = pytest.importorskip("torch")
    crop = rng.random((40, 300, 100)).astype(np.float32)
    want = torch.nn.functional.interpolate(
        torch.from_numpy(crop)[None, None], size=(32, 256, 256), mode="nearest-exact"
    )
    np.testing.assert_array_equal(segvol_zoomed_out(crop), want[0, 0].numpy())
