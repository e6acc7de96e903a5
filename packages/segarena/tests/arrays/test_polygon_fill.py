import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.arrays import polygon_fill
from segarena.arrays.coco_rle import Rle
from segarena.arrays.polygon_fill import fill_polygon, fill_polygons, join_patches

SHAPE = (9, 11)
numbers = st.one_of(
    st.integers(-3, 14), st.integers(-6, 28).map(lambda n: n / 2), st.floats(-3, 14, width=16)
)
rings = st.lists(st.tuples(numbers.map(float), numbers.map(float)), min_size=3, max_size=8)


def covered_slowly(points, row, column):
    """Return whether a pixel's centre is inside, by a ray in fractions; half-open on the outline."""
    corners = [tuple(map(Fraction, point)) for point in points]
    row, column = Fraction(2 * row + 1, 2), Fraction(2 * column + 1, 2)
    hits = 0
    for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
        if (a[0] <= row) != (b[0] <= row):
            hits += a[1] + (row - a[0]) / (b[0] - a[0]) * (b[1] - a[1]) <= column
    return hits % 2 == 1


@given(rings)
def test_pixel_centres_are_inside_as_fractions_say(points):
    mask = fill_polygon(np.array(points), SHAPE).full(SHAPE)
    # A centre within rounding of a side may fall either way; no drawn side is that exact.
    told = np.array(
        [[covered_slowly(points, r, c) for c in range(SHAPE[1])] for r in range(SHAPE[0])]
    )
    for row, column in np.argwhere(mask != told):
        assert distance_to_outline(points, row + 0.5, column + 0.5) < 1e-9


def distance_to_outline(points, row, column):
    distances = []
    for a, b in zip(points, points[1:] + points[:1], strict=True):
        along = np.subtract(b, a)
        share = np.clip(
            np.dot(np.subtract((row, column), a), along) / max(np.dot(along, along), 1e-300), 0, 1
        )
        distances.append(math.dist((row, column), np.add(a, share * along)))
    return min(distances)


@given(st.lists(st.tuples(numbers.map(float), numbers.map(float)), min_size=1, max_size=4))
def test_polygons_that_share_sides_share_no_pixel_and_leave_none_out(middle):
    """A frame divided by a chain of vertices from its top to its bottom, which sorting keeps monotone."""
    rows = sorted({min(max(row, 0.25), 8.75) for row, _ in middle})
    chain = [(row, min(max(column, 0), 11)) for row, (_, column) in zip(rows, middle, strict=False)]
    chain = [(0.0, 5.0), *chain, (9.0, 5.0)]
    left = np.array([(0.0, 0.0), *chain, (9.0, 0.0)])
    right = np.array([(0.0, 11.0), *chain, (9.0, 11.0)])
    one, other = (fill_polygon(points, SHAPE).full(SHAPE) for points in (left, right))
    assert (one ^ other).all()


@pytest.mark.parametrize("rule", ["pixel-centre", "coco"])
def test_whole_pixels_are_whole_pixels_by_either_rule(rule):
    box = np.array([[2, 3], [2, 7], [5, 7], [5, 3]], dtype=float)
    expected = np.zeros(SHAPE, dtype=bool)
    expected[2:5, 3:7] = True
    np.testing.assert_array_equal(fill_polygon(box, SHAPE, rule=rule).full(SHAPE), expected)


# (rows, columns, x and y in turn, the string that the COCO tools give)
COCO_STRINGS = [
    (
        33,
        38,
        [43.0, 48.0, 19.0, 39.0, 38.0, 4.0, 6.0, 45.0, 17.0, 22.0],
        "[=2m02N2N2N0102N2N2M20O2VONa05]OLb0:OK_OL`03CL;4HK74;00O001O1O00100Om0",
    ),
    (30, 11, [3.55, 43.29, 7.3, -2.53, 23.25, 25.17, 23.63, 38.58], "Z5:8X2I[N2N"),
    (13, 25, [8.0, 10.0, 27.0, 23.0, 13.0, 27.0, 49.0, 24.0], "o31=0O010O000f3"),
    (24, 8, [0.0, 24.0, 8.0, 24.0, 0.0, 5.71, 0.96, 18.98, 8.0, 24.0], "75e05KO2N1N2O1O2N"),
    (21, 11, [30.0, 6.0, 30.0, 6.0, 0.0, 44.0, -3.0, -1.0], "0d21PN0000001O0000"),
    (34, 39, [0.0, 22.05, 0.0, 34.0, 18.39, 12.48], "f0;f001O001O0O2O001O00001N101O001O00Pg0"),
    (14, 11, [34.0, 25.0, 25.0, 38.0, -5.0, -2.0], "23;2O00001N10000O01O1O"),
    (
        32,
        22,
        [43.0, 41.0, -9.0, -5.0, 14.0, 8.0, -6.0, 48.0],
        "03n00O1MMXO3e0O\\O1a01_O0>2CN:4FM75JJ48LI190GM;480[OL>5_ON`0:O1O001O1O1O1O1O",
    ),
    (
        14,
        31,
        [11.96, 0.0, 4.61, 12.85, 15.2, 7.66, 17.53, 14.0, 0.0, 14.0],
        "=1<1O1O1O1NOJN51MO21N01O11NN3341N010O100003Mi5",
    ),
    (22, 10, [-1.0, 19.0, 34.0, -5.0, 43.0, 42.0], "b02c0101N1O2O0O1O100O1"),
    (16, 5, [6.0, 27.0, 0.0, 13.0, 41.0, 36.0], "=1`01N01O00"),
    (
        33,
        28,
        [11.35, 25.73, 25.54, 33.0, 26.61, 2.42, 0.0, 0.0],
        "01P12N3M2N2N2O2M2N2N2N3M2N001O001O010O001O001O001O001OTOk1",
    ),
    (14, 21, [29.0, -5.0, 29.0, -5.0, 15.0, 3.0, 50.0, 16.0, 27.0, 42.0], "R72<0O1O2O00"),
    (
        27,
        7,
        [24.53, 42.98, 5.14, 15.48, 28.65, 39.42, -2.2, 2.73, 44.54, -2.47],
        "33g02O1O1O1O2N1M",
    ),
    (
        26,
        13,
        [13.0, 26.0, 6.05, 7.48, 5.98, 0.0, 0.0, 0.0, 1.03, 23.16],
        "0;?<D1O000009G2O2M3M2N3N2M",
    ),
    (36, 5, [15.0, 41.0, -2.0, 14.0, 21.0, -3.0], "<6m02O2M2N3E"),
    (
        24,
        34,
        [13.25, 23.28, 31.34, 35.29, 36.3, 31.15, -2.85, 13.92, 10.73, 39.08],
        "?5d01N100O01O00001O001O001O0O110O001O00a:",
    ),
    (
        24,
        38,
        [8.0, -5.0, 6.0, 29.0, 32.0, 32.0, 40.0, 16.0],
        "T544`6MSJ001O1O001O1O001O1O001O001O1O001O1O001O1N1ND",
    ),
    (13, 8, [24.89, -7.45, 24.89, -7.45, 15.01, 21.89, -7.56, 11.12], "7661O100O100O100"),
    (
        33,
        30,
        [9.65, 45.6, -3.81, 25.02, 29.25, 49.78, 23.97, 17.71],
        "l03o01OO001O1OZ:0dE2N2N2N2O1N2N22N6JY3",
    ),
    (10, 10, [10.0, 10.0, 0.0, 0.0, 8.62, 10.0, 10.0, 0.0, 10.0, 10.0], ";1:00000000001O0J4N"),
    (19, 14, [7.98, 24.08, 12.06, 18.06, -4.71, 4.26], "84`01O001O000O01O1O1O1O1Od0"),
    (
        38,
        22,
        [-8.0, 23.0, 17.0, 2.0, -2.0, 21.0, 37.0, 18.0],
        "`032Nm02TONk02VONi02XONh01YOOf01ZO0e00\\OOd01]OOb00@0?0B0=0D0i00000000a30_L00000]O",
    ),
    (8, 32, [44.03, 30.0, 49.61, 5.1, -3.12, -7.73], "h1171O001O1O1O1O001OY30gL00"),
]


@pytest.mark.parametrize(("height", "width", "flat", "counts"), COCO_STRINGS)
def test_coco_rule_gives_the_masks_of_the_coco_tools(height, width, flat, counts):
    points = np.array(flat).reshape(-1, 2)[:, ::-1]
    assert (
        Rle.of(fill_polygon(points, (height, width), rule="coco").full((height, width))).counts
        == counts
    )


@pytest.mark.parametrize("rule", ["pixel-centre", "coco"])
@given(points=rings)
def test_a_window_loses_nothing_of_a_larger_frame(rule, points):
    small = fill_polygon(np.array(points), SHAPE, rule=rule).full(SHAPE)
    if rule == "pixel-centre":
        large = fill_polygon(np.array(points) + 20, (60, 60)).full((60, 60))
        np.testing.assert_array_equal(large[20 : 20 + SHAPE[0], 20 : 20 + SHAPE[1]], small)
    assert small.shape == SHAPE


def test_unions_and_nothing():
    box = np.array([[0, 0], [0, 2], [2, 2], [2, 0]], dtype=float)
    union = fill_polygons([box, box + 3], SHAPE).full(SHAPE)
    assert union.sum() == 8
    assert fill_polygon(box[:2], SHAPE).full(SHAPE).sum() == 0
    assert fill_polygon(box - 40, SHAPE).full(SHAPE).sum() == 0
    assert join_patches([]).full(SHAPE).sum() == 0


@given(rings, rings)
def test_the_even_odd_rule_leaves_out_what_two_polygons_share(one, other):
    found = fill_polygons([np.array(one), np.array(other)], SHAPE, is_even_odd=True).full(SHAPE)
    each = [fill_polygon(np.array(ring), SHAPE).full(SHAPE) for ring in (one, other)]
    assert np.array_equal(found, each[0] ^ each[1])


def test_areas_follow_the_polygon_closely():
    angles = np.linspace(0, 2 * math.pi, 64, endpoint=False)
    circle = np.stack([100 + 80 * np.sin(angles), 100 + 80 * np.cos(angles)], axis=1)
    exact = 64 / 2 * 80**2 * math.sin(2 * math.pi / 64)
    for rule in ("pixel-centre", "coco"):
        assert fill_polygon(circle, (200, 200), rule=rule).mask.sum() == pytest.approx(
            exact, rel=0.005
        )


def outline_slowly(points):
    """Yield (column, row) of the COCO tools' outline, one point after another."""
    fine = [[math.trunc(5 * part + 0.5) for part in point] for point in points]
    for (top, left), (bottom, right) in zip(fine, [*fine[1:], fine[0]], strict=True):
        is_flat = abs(right - left) >= abs(bottom - top)
        is_backward = left > right if is_flat else top > bottom
        if is_backward:
            top, left, bottom, right = bottom, right, top, left
        length = right - left if is_flat else bottom - top
        rise = bottom - top if is_flat else right - left
        slope = rise / length if length else 0.0
        drawn = []
        for step in range(length + 1):
            if is_flat:
                drawn.append((left + step, math.trunc(top + slope * step + 0.5)))
            else:
                drawn.append((math.trunc(left + slope * step + 0.5), top + step))
        yield from reversed(drawn) if is_backward else drawn


def filled_slowly(points, shape):
    """Fill like the COCO tools: outline points in whole columns toggle all pixels after them, column by column."""
    height, width = shape
    toggles = [0] * (height * width + 1)
    outline = list(outline_slowly(points))
    for (before, higher), (here, lower) in pairwise(outline):
        if here == before:
            continue
        column = (min(here, before if here < before else here - 1) + 0.5) / 5 - 0.5
        if column == math.floor(column) and 0 <= column <= width - 1:
            row = math.ceil(min(max((min(higher, lower) + 0.5) / 5 - 0.5, 0), height))
            toggles[int(column) * height + row] ^= 1
    filled = np.bitwise_xor.accumulate(toggles[:-1]).astype(bool)
    return filled.reshape(width, height).T


far_numbers = st.one_of(numbers, st.integers(-400, 400), st.floats(-400, 400, width=16))
far_rings = st.lists(
    st.tuples(far_numbers.map(float), far_numbers.map(float)), min_size=3, max_size=8
)


@given(far_rings, st.sampled_from([7, 100, polygon_fill._PIECE_STEPS]))
def test_edges_that_leave_the_frame_toggle_the_same_pixels(points, piece_steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polygon_fill, "_PIECE_STEPS", piece_steps)
        found = fill_polygon(np.array(points), SHAPE, rule="coco").full(SHAPE)
    np.testing.assert_array_equal(found, filled_slowly(points, SHAPE))


@pytest.mark.parametrize("rule", ["pixel-centre", "coco"])
def test_polygons_far_outside_cost_little(rule):
    far = np.array([[-1e300, -1e300], [1e300, -1e300], [1e300, 1e300], [-1e300, 1e300]])
    assert fill_polygon(far, SHAPE, rule=rule).full(SHAPE).all()
    # Drawn step by step, the outline of these edges would take 40 GB.
    zigzag = np.stack([np.linspace(-1e6, 1e6, 1000), np.tile([-1e9, 1e9], 500)], axis=1)
    assert fill_polygon(zigzag, SHAPE, rule=rule).mask.shape == SHAPE
