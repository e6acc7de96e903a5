from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from segarena.segmenters.learned.promptable.image_preparation import (
    BILINEAR,
    IMAGENET_MEAN,
    IMAGENET_STD,
    prepare_image,
)


def test_a_flat_image_is_its_normalised_colour():
    image = np.full((5, 9, 3), (255, 0, 51), np.uint8)
    pixels = prepare_image(image, (4, 6), BILINEAR)
    assert pixels.shape == (1, 3, 4, 6)
    expected = (np.array([1.0, 0.0, 0.2]) - IMAGENET_MEAN) / IMAGENET_STD
    assert np.allclose(pixels[0].numpy(), expected[:, None, None], atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (3000, 2), (2, 3000)])
def test_any_shape_becomes_the_wanted_one(shape):
    image = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    pixels = prepare_image(image, (16, 32), BILINEAR)
    assert pixels.shape == (1, 3, 16, 32)
    assert bool(pixels.isfinite().all())
