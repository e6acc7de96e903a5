import base64
import io
import re
from itertools import pairwise

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from segarena.arrays.boxes import bounding_window
from segarena.prompts import Click
from segarena.records.prompts import RecordedMask
from segarena.reports.overlays import (
    VIEW_PX,
    jpeg_uri,
    outline,
    pixel_outline,
    prompt_positions,
    view_of,
)


def filled(path, view):
    """Fill SVG path data with the even-odd rule, pixel by pixel: what a browser shows."""
    height, width = round(view.height), round(view.width)
    image = np.zeros((height, width), dtype=np.uint8)
    for closed in re.findall(r"M([^Z]*)Z", path):
        points = (
            np.array([[float(v) for v in point.split()] for point in closed.split("L")])
            .round()
            .astype(np.int32)
        )
        layer = np.zeros_like(image)
        cv2.fillPoly(layer, [points], 1)
        image ^= layer
    return image.astype(bool)


@given(st.integers(0, 5000))
def test_a_view_holds_everything_it_should_show_and_stays_in_the_sample(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(20, 400, 2).tolist())
    mask = np.zeros(shape, dtype=bool)
    mask[rng.integers(0, shape[0], 3), rng.integers(0, shape[1], 3)] = True
    click = (float(rng.integers(0, shape[0])), float(rng.integers(0, shape[1])))
    view = view_of(shape, [bounding_window(mask)], [click])
    rows, columns = view.window
    assert 0 <= rows.start < rows.stop <= shape[0]
    assert 0 <= columns.start < columns.stop <= shape[1]
    assert mask[view.window].sum() == mask.sum()
    x, y = view.place(*click)
    assert 0 < x < view.width
    assert 0 < y < view.height
    assert max(view.width, view.height) == pytest.approx(VIEW_PX)


def test_a_view_of_nothing_is_the_whole_sample():
    empty = bounding_window(np.zeros((40, 60), dtype=bool))
    assert view_of((40, 60), [empty], []).window == (slice(0, 40), slice(0, 60))


@pytest.mark.parametrize("shape", [(120, 160), (900, 1200)], ids=["enlarged", "reduced"])
def test_an_outline_encloses_the_mask_and_leaves_out_its_hole(shape):
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    distance = np.hypot(rows - shape[0] / 2, columns - shape[1] / 2) / shape[0]
    mask = (distance < 0.4) & (distance > 0.15)
    view = view_of(shape, [bounding_window(np.ones(shape, dtype=bool))], [])
    shown = filled(outline(mask, view), view)
    wanted = cv2.resize(
        mask.astype(np.uint8), shown.shape[::-1], interpolation=cv2.INTER_NEAREST
    ).astype(bool)
    assert np.count_nonzero(shown != wanted) < 0.03 * np.count_nonzero(wanted)


def test_an_outline_of_nothing_is_empty_and_one_pixel_does_not_vanish():
    mask = np.zeros((2000, 2000), dtype=bool)
    view = view_of(mask.shape, [bounding_window(np.ones_like(mask))], [])
    assert outline(mask, view) == ""
    mask[1000:1006, 1000:1006] = True
    assert outline(mask, view).startswith("M")


def test_labels_are_outlined_together():
    labels = np.zeros((100, 100), dtype=np.uint8)
    labels[10:30, 10:30], labels[60:90, 60:90] = 1, 2
    view = view_of(labels.shape, [], [])
    assert outline(labels, view) == outline(labels > 0, view)
    assert outline(labels, view).count("M") == 2


def test_the_photograph_is_the_crop_scaled_down_but_never_up():
    image = np.zeros((100, 1000, 3), dtype=np.uint8)
    image[:, 500:] = 200
    wide = view_of((100, 1000), [bounding_window(np.ones((100, 1000), dtype=bool))], [])
    small = view_of((100, 1000), [(slice(40, 60), slice(480, 520))], [])
    for view, longest in ((wide, VIEW_PX), (small, 100)):
        data = base64.b64decode(jpeg_uri(image, view).removeprefix("data:image/jpeg;base64,"))
        shown = np.asarray(Image.open(io.BytesIO(data)))
        assert max(shown.shape[:2]) == pytest.approx(longest, abs=4)
        assert abs(shown[:, :4].mean() - 0) < 12
        assert abs(shown[:, -4:].mean() - 200) < 12


@given(st.integers(0, 5000), st.integers(1, 9), st.integers(1, 9))
def test_the_outline_of_pixels_covers_exactly_them(seed, height, width):
    mask = np.random.default_rng(seed).random((height, width)) < 0.5
    inside = np.zeros_like(mask)
    for loop in pixel_outline(mask).split("Z")[:-1]:
        corners = [tuple(map(int, corner.split())) for corner in loop.removeprefix("M").split("L")]
        for (x0, y0), (x1, y1) in pairwise([*corners, corners[0]]):
            assert x0 == x1 or y0 == y1
            if x0 == x1:  # a vertical edge flips all pixels on its right
                inside[min(y0, y1) : max(y0, y1), x0:] ^= True
    np.testing.assert_array_equal(inside, mask)


def test_only_drawn_prompts_have_positions():
    assert prompt_positions(RecordedMask(7)) == []
    assert prompt_positions(Click((3, 10, 20))) == [(10.0, 20.0)]
