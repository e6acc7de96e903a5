from __future__ import annotations

import cv2
import numpy as np
import pytest

from segarena.errors import InvalidImage
from segarena.systems.clicks.network.letterbox import MEAN, STD, Letterbox, view_window


@pytest.mark.parametrize(
    ("shape", "rows", "columns"),
    [
        ((480, 854), (91, 324), (0, 416)),  # 480 * 416 // 854 = 233
        ((854, 480), (0, 416), (91, 324)),
        ((416, 416), (0, 416), (0, 416)),
        ((50, 50), (0, 416), (0, 416)),
        ((1000, 3), (0, 416), (207, 208)),
    ],
)
def test_the_longer_side_fills_the_canvas_and_the_shorter_is_centred(shape, rows, columns):
    box = Letterbox.fit(shape)
    assert (box.rows.start, box.rows.stop) == rows
    assert (box.columns.start, box.columns.stop) == columns


def test_an_image_with_nothing_left_is_refused():
    with pytest.raises(InvalidImage, match="500 x 1 has no pixels left"):
        Letterbox.fit((500, 1))


@pytest.mark.parametrize("shape", [(90, 300), (300, 90), (64, 64)])
def test_colours_are_normalised_at_full_size_and_the_rest_is_zero(shape):
    image = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    box = Letterbox.fit(shape, 128)
    full = (image / 255 - MEAN) / STD
    size = (box.columns.stop - box.columns.start, box.rows.stop - box.rows.start)
    expected = np.zeros((128, 128, 3))
    expected[box.rows, box.columns] = cv2.resize(full, size, interpolation=cv2.INTER_LINEAR)
    np.testing.assert_allclose(box.put_image(image), np.moveaxis(expected, -1, 0), atol=2e-6)


def test_a_mask_gets_soft_borders_and_zero_beside_it():
    mask = np.zeros((40, 300), dtype=bool)
    mask[10:30, 100:200] = True
    canvas = Letterbox.fit((40, 300), 128).put_mask(mask)
    assert canvas.dtype == np.float32
    assert not canvas[:50].any()
    assert ((canvas > 0) & (canvas < 1)).any()
    assert canvas.max() == 1


def test_the_view_is_the_box_of_the_error_and_a_margin_cut_at_the_frame():
    error = np.zeros((100, 60), dtype=np.float32)
    error[10:30, 40:50] = 0.7
    error[80, 5] = 0.3
    assert view_window(error, None) == (slice(0, 100), slice(0, 60))
    assert view_window(error, 0.5) == (slice(0, 40), slice(30, 60))
    assert view_window(error, 0.0) == (slice(6, 34), slice(36, 54))  # at least 4 pixels
    assert view_window(error * 0.5, 0.0) == (slice(6, 85), slice(1, 54))  # all of a faint error
    assert view_window(np.zeros((7, 9), dtype=bool), 0.5) == (slice(0, 7), slice(0, 9))
