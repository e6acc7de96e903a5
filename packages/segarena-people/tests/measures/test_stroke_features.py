"""Features of strokes, compared with plain loops over pixels."""

import math
from itertools import product
from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.morphology import thin as thin_of_skimage

from segarena.errors import InvalidMask
from segarena_people.measures.goal_mask_geometry import GoalShape
from segarena_people.measures.stroke_features import (
    COARSE_STROKE_COLUMNS,
    COARSE_STROKE_FEATURES,
    STROKE_FEATURES,
    stroke_feature_table,
    stroke_features,
)


def pixels_of(mask):
    return [(row, column) for row, column in product(*map(range, mask.shape)) if mask[row, column]]


def slow_depths(goal):
    """Return the distance of each goal pixel from the nearest pixel outside the goal or the frame."""
    height, width = goal.shape
    outside = [
        p for p in product(range(-1, height + 1), range(-1, width + 1)) if not inside(goal, p)
    ]
    return {pixel: min(math.dist(pixel, other) for other in outside) for pixel in pixels_of(goal)}


def inside(mask, pixel):
    return 0 <= pixel[0] < mask.shape[0] and 0 <= pixel[1] < mask.shape[1] and bool(mask[pixel])


def neighbours(pixel):
    return [(pixel[0] + a, pixel[1] + b) for a, b in product((-1, 0, 1), repeat=2) if a or b]


def slow_pieces(line):
    left = set(line)
    pieces = 0
    while left:
        pieces += 1
        waiting = [left.pop()]
        while waiting:
            touched = [other for other in neighbours(waiting.pop()) if other in left]
            left.difference_update(touched)
            waiting += touched
    return pieces


def slow_box(pixels):
    rows, columns = zip(*pixels, strict=True)
    return max(rows) - min(rows) + 1, max(columns) - min(columns) + 1


def slow_centroid(pixels):
    return tuple(map(fmean, zip(*pixels, strict=True)))


def slow_features(ink, goal):
    line = pixels_of(thin_of_skimage(ink))
    object_ = pixels_of(goal)
    side = math.sqrt(len(object_))
    depths = slow_depths(goal)
    greatest = max(depths.values())
    along = [depths.get(pixel, 0) / greatest for pixel in line]
    height, width = slow_box(line)
    object_height, object_width = slow_box(object_)
    count = [sum(other in set(line) for other in neighbours(pixel)) for pixel in line]
    reach = [min(math.dist(pixel, other) for other in line) / side for pixel in object_]
    return [
        math.log(len(line) / side),
        slow_pieces(line),
        fmean(along),
        min(along),
        pstdev(along),
        math.dist(slow_centroid(line), slow_centroid(object_)) / side,
        height / object_height,
        width / object_width,
        len(line) / math.hypot(height, width),
        count.count(1),
        sum(number > 2 for number in count) / len(line),
        sum(not goal[pixel] for pixel in line) / len(line),
        fmean(reach),
        max(reach),
    ]


@st.composite
def strokes(draw):
    """Generate blobs of goals and of ink, which may fill their image."""
    height = draw(st.integers(5, 20))
    width = draw(st.integers(5, 20))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    goal, ink = np.zeros((2, height, width), bool)
    for mask in (goal, ink):
        for _ in range(draw(st.integers(1, 3))):
            row = rng.integers(height)
            column = rng.integers(width)
            mask[row : row + rng.integers(1, 9), column : column + rng.integers(1, 9)] = True
    return ink, goal


@given(strokes())
@settings(max_examples=60, deadline=None)
def test_equal_plain_loops_over_pixels(stroke):
    assert stroke_features(*stroke) == pytest.approx(slow_features(*stroke), abs=1e-9)


def test_by_hand():
    goal, ink = np.zeros((2, 9, 16), bool)
    goal[2:7, 3:13] = True  # 50 pixels; the middle row is three deep, but for its ends
    ink[4, 5:15] = True  # ten pixels, two of them beyond the goal
    found = dict(zip(STROKE_FEATURES, stroke_features(ink, goal).tolist(), strict=True))
    side = math.sqrt(50)
    assert found["length"] == pytest.approx(math.log(10 / side))
    assert (found["pieces"], found["ends"], found["branching"]) == (1, 2, 0)
    assert found["depth_mean"] == pytest.approx((6 * 3 + 2 + 1 + 0 + 0) / 3 / 10)
    assert found["depth_least"] == 0
    assert found["offset"] == pytest.approx(
        2 / side
    )  # middle of columns 5 to 14 against that of 3 to 12
    assert found["cover_height"] == pytest.approx(1 / 5)
    assert found["cover_width"] == pytest.approx(1)
    assert found["winding"] == pytest.approx(10 / math.hypot(1, 10))
    assert found["off_goal"] == pytest.approx(0.2)
    assert found["reach_most"] == pytest.approx(math.hypot(2, 2) / side)


def test_wide_ink_is_measured_along_its_middle():
    goal, thin, wide = np.zeros((3, 40, 60), bool)
    goal[5:35, 5:55] = True
    thin[20, 12:48] = True
    wide[18:23, 10:50] = True
    one = stroke_features(thin, goal)
    other = stroke_features(wide, goal)
    assert one[list(COARSE_STROKE_COLUMNS)] == pytest.approx(
        other[list(COARSE_STROKE_COLUMNS)], abs=0.06
    )


@pytest.mark.parametrize(
    "turn", [lambda mask: mask.T, lambda mask: mask[::-1], lambda mask: np.pad(mask, (4, 7))]
)
def test_where_and_how_the_picture_lies_changes_little(turn):
    goal, ink = np.zeros((2, 30, 50), bool)
    goal[4:25, 6:44] = ink[10, 10:40] = ink[20, 12:20] = True
    found = dict(
        zip(STROKE_FEATURES, stroke_features(turn(ink).copy(), turn(goal).copy()), strict=True)
    )
    before = dict(zip(STROKE_FEATURES, stroke_features(ink, goal), strict=True))
    if turn(ink).shape == ink.T.shape:
        found["cover_height"], found["cover_width"] = found["cover_width"], found["cover_height"]
    assert found == pytest.approx(before, abs=1e-9)


def test_a_goal_measured_once_gives_the_same():
    rng = np.random.default_rng(3)
    goal = np.zeros((30, 40), bool)
    goal[3:28, 5:36] = rng.random((25, 31)) < 0.8
    inks = [rng.random(goal.shape) < share for share in (0.01, 0.1, 0.4)]
    shape = GoalShape(goal)
    assert np.array_equal(
        stroke_feature_table((ink, shape) for ink in inks),
        [stroke_features(ink, goal) for ink in inks],
    )


def test_coarse_are_the_seven_of_the_fourteen():
    assert COARSE_STROKE_COLUMNS == (0, 2, 5, 6, 7, 12, 13)
    assert (len(STROKE_FEATURES), len(COARSE_STROKE_FEATURES)) == (14, 7)


@pytest.mark.parametrize(
    ("ink", "goal", "said"),
    [
        (np.zeros((4, 4), bool), np.ones((4, 4), bool), "rounds without strokes"),
        (np.ones((4, 4), bool), np.zeros((4, 4), bool), "with an empty goal"),
        (np.ones((4, 5), bool), np.ones((4, 4), bool), "goal's shape"),
        (np.ones((4, 4), np.uint8), np.ones((4, 4), bool), "uint8"),
        (np.ones((4, 4), bool), np.ones((4, 4, 4), bool), r"\(H, W\)"),
    ],
)
def test_what_cannot_be_measured_is_refused(ink, goal, said):
    with pytest.raises(InvalidMask, match=said):
        stroke_features(ink, goal)
