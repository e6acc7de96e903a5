"""Shapes of annotation tools as masks, against the COCO tools, slow references and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from segarena.arrays.coco_rle import Rle
from segarena.datasets.annotations.annotation_shapes import (
    BoxShape,
    CocoSegmentation,
    Ellipse,
    Outline,
    rotated_corners,
)
from segarena.datasets.annotations.cvat_shapes import CvatShape
from segarena.errors import InvalidInput

SHAPE = (18, 26)
# Polygons and the masks that pycocotools 2.0.11 draws (`merge(frPyObjects(polygons, 18, 26))`).
COCO_POLYGONS = [
    ([[3.2, 2.1, 20.7, 4.4, 17.9, 15.2, 6.5, 13.8]], "h11a04L3N2M1O000000001O01O0000000N2L4Lj2", 162),
    (
        [[1, 1, 9, 1, 9, 9, 1, 9], [12.5, 3.5, 22.25, 3.5, 17, 12.75]],
        "c08:0000000000000[2IlM2N3M2N00N2N2O1NV2",
        104,
    ),
    ([[-5, 4, 30, 4, 30, 8, -5, 8]], "44>0000000000000000000000000000000000000000000000000L", 104),
]  # fmt: skip


def slow_coco(counts):
    """Decode a compressed COCO string character by character, as `rleFrString` does."""
    lengths = []
    position = 0
    while position < len(counts):
        value = 0
        shift = 0
        while True:
            code = ord(counts[position]) - 48
            position += 1
            value |= (code & 31) << shift
            shift += 5
            if not code & 32:
                if code & 16:
                    value -= 1 << shift
                break
        if len(lengths) > 2:
            value += lengths[-2]
        lengths.append(value)
    pixels = []
    for number, length in enumerate(lengths):
        pixels += [number % 2 == 1] * length
    return np.array(pixels).reshape(SHAPE[1], SHAPE[0]).T


@pytest.mark.parametrize(("polygons", "counts", "area"), COCO_POLYGONS)
def test_coco_polygons_and_run_lengths_are_those_of_the_coco_tools(polygons, counts, area):
    drawn = CocoSegmentation(polygons).draw(SHAPE).full(SHAPE)
    assert drawn.sum() == area
    np.testing.assert_array_equal(drawn, slow_coco(counts))
    packed = CocoSegmentation({"size": list(SHAPE), "counts": counts})
    np.testing.assert_array_equal(packed.draw(SHAPE).full(SHAPE), drawn)


def test_run_lengths_agree_with_a_slow_decoder_packed_and_as_a_list(rng):
    for _ in range(30):
        mask = rng.random(SHAPE) > rng.random()
        counts = Rle.of(mask).counts
        np.testing.assert_array_equal(slow_coco(counts), mask)
        packed = CocoSegmentation({"size": list(SHAPE), "counts": counts})
        plain = CocoSegmentation({"size": list(SHAPE), "counts": Rle.of(mask).lengths.tolist()})
        for drawing in (packed, plain):
            np.testing.assert_array_equal(drawing.draw(SHAPE).full(SHAPE), mask)


def test_cropped_run_lengths_of_cvat_agree_with_a_slow_decoder(rng):
    for _ in range(20):
        top, left = rng.integers(0, 8, 2).tolist()
        height, width = rng.integers(1, 9, 2).tolist()
        pixels = (rng.random(height * width) > 0.5).tolist()
        runs = [0]
        for before, now in zip([False, *pixels], pixels, strict=False):
            if now != before:
                runs.append(0)
            runs[-1] += 1
        expected = np.zeros(SHAPE, dtype=bool)
        for index, is_on in enumerate(pixels):
            expected[top + index // width, left + index % width] = is_on
        numbers = {"left": left, "top": top, "width": width, "height": height}
        attributes = {key: str(value) for key, value in numbers.items()}
        attributes["rle"] = ", ".join(map(str, runs))
        drawn = CvatShape("mask", attributes).draw(SHAPE).full(SHAPE)
        np.testing.assert_array_equal(drawn, expected)


@pytest.mark.parametrize("rotation", [0.0, 30.0, 90.0, 200.0])
def test_an_ellipse_holds_the_pixels_whose_centre_is_inside(rotation):
    drawn = Ellipse(13.0, 9.0, 8.0, 4.0, rotation).draw(SHAPE).full(SHAPE)
    angle = math.radians(rotation)
    for row in range(SHAPE[0]):
        for column in range(SHAPE[1]):
            offset = complex(column + 0.5 - 13, row + 0.5 - 9) * complex(
                math.cos(angle), -math.sin(angle)
            )
            inside = (offset.real / 8) ** 2 + (offset.imag / 4) ** 2
            if abs(inside - 1) > 1e-9:
                assert drawn[row, column] == (inside < 1)


def test_boxes_turn_clockwise_about_their_corner_or_their_centre():
    plain = BoxShape(4, 2, 6, 3).draw(SHAPE).full(SHAPE)
    assert plain[2:5, 4:10].all()
    assert plain.sum() == 18
    about_corner = BoxShape(10, 2, 6, 3, rotation=90).draw(SHAPE).full(SHAPE)
    assert about_corner[2:8, 7:10].all()
    assert about_corner.sum() == 18
    about_centre = Outline(rotated_corners(4, 2, 10, 6, 90)).draw(SHAPE).full(SHAPE)
    assert about_centre[1:7, 5:9].all()
    assert about_centre.sum() == 24


def test_percentages_are_of_the_width_and_the_height():
    pairs = [[50, 0], [100, 0], [100, 50], [50, 50]]
    drawn = Outline(pairs, in_percent=True).draw(SHAPE).full(SHAPE)
    assert drawn[:9, 13:].all()
    assert drawn.sum() == 9 * 13
    box = BoxShape(50, 0, 50, 50, in_percent=True).draw(SHAPE).full(SHAPE)
    np.testing.assert_array_equal(box, drawn)
    ellipse = Ellipse(50, 50, 50, 50, in_percent=True).draw(SHAPE).full(SHAPE)
    assert ellipse.sum() == pytest.approx(math.pi * 13 * 9, rel=0.02)


@pytest.mark.parametrize(
    "drawing",
    [
        CocoSegmentation("polygon"),
        CocoSegmentation([[1, 2, 3]]),
        CocoSegmentation([[float("nan"), 2, 3, 4, 5, 6]]),
        CocoSegmentation({"size": [3, 4], "counts": "0"}),
        CocoSegmentation({"size": list(SHAPE), "counts": [1, -1, 468]}),
        CocoSegmentation({"size": list(SHAPE), "counts": "zzz"}),
        CocoSegmentation([[0, 0, 1e9, 0, 1e9, 1e9] * 50]),
        Outline(None),
        Outline([[1, "a"]]),
        Outline([[0, 0], [10, 1e9]] * 200_000),
        BoxShape(1, 2, None, 4),
        Ellipse(1, 2, 0, 4),
        Ellipse(1, 2, "x", 4),
        CvatShape("mask", {"rle": "1, 2"}),
        CvatShape("mask", {"rle": "4", "left": "25", "top": "0", "width": "2", "height": "2"}),
        CvatShape("mask", {"rle": "5", "left": "0", "top": "0", "width": "2", "height": "2"}),
    ],
)
def test_invalid_shapes_are_refused_in_one_short_line(drawing):
    with pytest.raises(InvalidInput, match=r"expected|exceeds") as caught:
        drawing.draw(SHAPE)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
