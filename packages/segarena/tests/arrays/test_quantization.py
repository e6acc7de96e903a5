"""Voxels as 16 bits: whole numbers are restored exactly, all others within one step."""

import numpy as np
import pytest

from segarena.arrays.quantization import fit_quantization, quantize


@pytest.mark.parametrize("ends", [(-1024, 3071), (0, 65535), (-32768, 32767), (5, 5)])
def test_whole_numbers_come_back_as_they_were(rng, ends):
    voxels = rng.integers(ends[0], ends[1] + 1, (3, 4, 5)).astype(np.int32)
    voxels.flat[0], voxels.flat[-1] = ends
    levels = fit_quantization(voxels)
    np.testing.assert_array_equal(levels.offset + levels.step * quantize(voxels, levels), voxels)
    assert ends[0] <= levels.low < levels.high <= ends[1] + 1e-5


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_what_has_more_values_comes_back_within_half_a_step(rng, kind):
    voxels = (rng.normal(size=(3, 4, 5)) * 1e6).astype(kind)
    levels = fit_quantization(voxels)
    found = levels.offset + levels.step * quantize(voxels, levels)
    np.testing.assert_allclose(found, voxels, atol=0.51 * levels.step)
    assert levels.step == pytest.approx(float(np.ptp(voxels.astype(np.float64))) / 65535)


def test_what_is_no_number_is_as_low_as_can_be():
    voxels = np.array([[[np.nan, -np.inf, np.inf, 1.0, 3.0]]])
    levels = fit_quantization(voxels)
    assert quantize(voxels, levels).ravel().tolist() == [0, 0, 65535, 0, 65535]
    assert quantize(
        np.full((1, 1, 2), np.nan), fit_quantization(np.full((1, 1, 2), np.nan))
    ).tolist() == [[[0, 0]]]
