from __future__ import annotations

import cv2
import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.systems.clicks.models.saliency import OnCanvas, contrast

WHOLE = (slice(0, 40), slice(0, 60))


def test_the_odd_colour_stands_out_and_one_colour_does_not():
    crop = np.full((40, 60, 3), (30, 120, 60), dtype=np.uint8)
    assert not contrast(crop, WHOLE).any()
    crop[10:14, 20:24] = (250, 20, 20)
    found = contrast(crop, WHOLE)
    assert np.unravel_index(found.argmax(), found.shape)[0] in range(9, 15)
    assert found[12, 22] > 10 * found[30, 50]


def published_canvas(crop):
    canvas = np.ones((288, 384, 3), dtype=np.uint8)
    rows, columns = crop.shape[:2]
    if rows / 288 > columns / 384:
        new = (columns * 288) // rows
        canvas[:, (384 - new) // 2 : (384 - new) // 2 + new] = cv2.resize(crop, (new, 288))
    else:
        new = (rows * 384) // columns
        canvas[(288 - new) // 2 : (288 - new) // 2 + new] = cv2.resize(crop, (384, new))
    return canvas


@pytest.mark.parametrize("shape", [(100, 37), (37, 100), (288, 384), (500, 666)])
def test_a_network_sees_the_published_canvas_and_its_answer_covers_the_crop(shape):
    crop = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    seen = []
    rows = np.arange(288.0)[:, None].repeat(384, axis=1)

    def network(canvas):
        seen.append(canvas)
        return np.abs(rows - 143.5) / 143.5

    answer = OnCanvas(network)(crop, WHOLE)
    np.testing.assert_array_equal(seen[0], published_canvas(crop))
    assert answer.shape == shape
    assert answer.dtype == np.uint8
    middle = shape[0] // 2
    assert answer[middle].max() <= 4
    assert int(answer[0, 0]) == pytest.approx(int(answer[-1, -1]), abs=3)


def test_a_network_of_another_size_is_refused():
    with pytest.raises(InvalidInput, match=r"\(288, 384\) returned a map of \(5, 5\)"):
        OnCanvas(lambda _: np.zeros((5, 5)))(np.zeros((9, 9, 3), np.uint8), WHOLE)


def test_thin_crops_keep_a_pixel():
    answer = OnCanvas(lambda canvas: canvas[:, :, 0] / 255)(np.full((2000, 1, 3), 200, np.uint8), WHOLE)
    assert answer.shape == (2000, 1)
    assert answer.any()
