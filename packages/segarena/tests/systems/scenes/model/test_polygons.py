import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.arrays.polygon_points import as_points
from segarena.errors import InvalidInput
from segarena.systems.scenes.model import polygons

UNIT = np.array([[0, 0], [0, 1], [1, 1], [1, 0]], dtype=float)
L_SHAPE = np.array([[0, 0], [4, 0], [4, 2], [2, 2], [2, 4], [0, 4]], dtype=float)
coordinates = st.one_of(st.integers(0, 6), st.floats(0, 6, width=16)).map(float)
rings = st.lists(st.tuples(coordinates, coordinates), min_size=3, max_size=9).map(
    lambda p: np.array(p, dtype=float)
)


def exact(points):
    return [tuple(map(Fraction, point)) for point in points.tolist()]


def cross(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def on_side(a, b, point):
    low, high = ([min(a[k], b[k]) for k in (0, 1)], [max(a[k], b[k]) for k in (0, 1)])
    return cross(a, b, point) == 0 and all(low[k] <= point[k] <= high[k] for k in (0, 1))


def sides_meet(a, b, c, d):
    """Return whether two closed sides share a point, in fractions."""
    if any((on_side(a, b, c), on_side(a, b, d), on_side(c, d, a), on_side(c, d, b))):
        return True
    return cross(a, b, c) * cross(a, b, d) < 0 and cross(c, d, a) * cross(c, d, b) < 0


def is_simple_slowly(points):
    """Return whether no two sides share more than their common vertex, in fractions."""
    corners = exact(points)
    count = len(corners)
    for one in range(count):
        a, b = corners[one], corners[(one + 1) % count]
        if a == b:
            return False
        for other in range(one + 1, count):
            c, d = corners[other], corners[(other + 1) % count]
            is_next, is_last = other == one + 1, one == 0 and other == count - 1
            if is_next and is_last:
                continue
            if is_next and (on_side(a, b, d) or on_side(c, d, a)):
                return False
            if is_last and (on_side(a, b, c) or on_side(c, d, b)):
                return False
            if not (is_next or is_last) and sides_meet(a, b, c, d):
                return False
    return True


def test_closed_forms_of_a_square_and_a_circle():
    assert polygons.area(UNIT) == 1
    assert polygons.perimeter(UNIT) == 4
    angles = np.linspace(0, 2 * math.pi, 4000, endpoint=False)
    circle = 1e4 + 10 * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    assert polygons.area(circle) == pytest.approx(100 * math.pi, rel=1e-5)
    assert polygons.perimeter(circle) == pytest.approx(20 * math.pi, rel=1e-5)


def test_hull_of_an_l_leaves_out_the_inner_corner_and_points_on_lines():
    hull = polygons.convex_hull(np.vstack([L_SHAPE, [[0, 2], [1, 1]]]))
    assert set(map(tuple, hull.tolist())) == {(0, 0), (4, 0), (4, 2), (2, 4), (0, 4)}
    assert polygons.area(hull) == 14
    assert polygons.area(L_SHAPE) == 12


@given(rings)
def test_hull_holds_every_vertex_and_is_convex(points):
    hull = polygons.convex_hull(points)
    if len(hull) > 2:
        assert polygons.contains_points(hull, points).all()
        assert {
            polygons.orientation(*(hull[(k + j) % len(hull)] for j in range(3)))
            for k in range(len(hull))
        } == {1}
        assert polygons.area(hull) >= polygons.area(points) - 1e-9 or not is_simple_slowly(points)


def test_turns_are_right_where_floats_are_not():
    a, b = (0.5, 0.5), (12.0, 12.0)
    assert polygons.orientation(a, b, (24.0, 24.0)) == 0
    tiny = math.ulp(24.0)
    assert polygons.orientation(a, b, (24.0, 24.0 + tiny)) == 1
    assert polygons.orientation(a, b, (24.0 + tiny, 24.0)) == -1
    assert polygons.orientation((0, 0), (1e-200, 1e200), (2e-200, 2e200)) == 0


@given(rings)
def test_crossings_are_those_of_exact_fractions(points):
    count = len(points)
    found = polygons.crossings(points)
    if count == 3 and polygons.area(points) == 0:
        assert found
        return
    assert (not found) == is_simple_slowly(points)


@given(rings, st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=5))
def test_points_are_inside_as_a_ray_in_fractions_says(points, probes):
    corners = exact(points)
    for probe, told in zip(
        probes, polygons.contains_points(points, np.array(probes, dtype=float)), strict=True
    ):
        row, column = map(Fraction, probe)
        sides = list(zip(corners, corners[1:] + corners[:1], strict=True))
        hits = 0
        for a, b in sides:
            if (a[0] <= row) != (b[0] <= row):
                hits += a[1] + (row - a[0]) / (b[0] - a[0]) * (b[1] - a[1]) > column
        assert told == (hits % 2 == 1 or any(on_side(a, b, (row, column)) for a, b in sides))


def test_a_bow_tie_crosses_in_its_middle():
    (crossing,) = polygons.crossings(np.array([[0, 0], [2, 2], [0, 2], [2, 0]], dtype=float))
    assert crossing == (0, 2, 1, 1)


@pytest.mark.parametrize(
    "points",
    [
        [[0, 0], [0, 4], [0, 2], [4, 2]],  # a spike
        [[0, 0], [0, 0], [0, 4], [4, 4]],  # a vertex twice in a row
        [[0, 0], [4, 0], [4, 4], [0, 0], [0, 4]],  # a vertex used twice
        [[0, 0], [4, 0], [8, 0]],  # all on one line
    ],
)
def test_what_is_not_simple_is_found(points):
    assert polygons.crossings(np.array(points, dtype=float))


def test_an_outline_of_thousands_of_vertices_is_looked_at_in_time():
    angles = np.linspace(0, 2 * math.pi, 20_000, endpoint=False)
    radius = 100 + 5 * np.sin(40 * angles)
    star = np.stack([radius * np.sin(angles), radius * np.cos(angles)], axis=1)
    assert polygons.crossings(star) == []
    star[0], star[5] = star[5].copy(), star[0].copy()
    assert polygons.crossings(star)


@pytest.mark.long
def test_a_comb_and_a_tangle_of_many_vertices_are_looked_at_in_time():
    teeth = np.arange(20_000)
    comb = np.stack([np.where(teeth % 2, 0.0, 900.0), teeth / 10], axis=1)
    comb = np.vstack([comb, [[1000.0, 2000.0], [1000.0, 0.0]]])
    assert polygons.crossings(comb) == []
    tangle = np.random.default_rng(0).uniform(0, 500, (20_000, 2))
    assert len(polygons.crossings(tangle)) >= 1000


def test_clipping_keeps_what_is_inside_the_frame():
    square = np.array([[-2, -2], [-2, 3], [3, 3], [3, -2]], dtype=float)
    clipped = polygons.clip_to_frame(square, (10, 10))
    assert polygons.area(clipped) == 9
    assert clipped.min() == 0
    assert len(polygons.clip_to_frame(square - 50, (10, 10))) == 0
    np.testing.assert_array_equal(polygons.clip_to_frame(UNIT, (10, 10)), UNIT)


def test_repeats_are_dropped():
    points = np.array([[0, 0], [0, 0], [1, 0], [1, 1], [1, 1], [0, 0]], dtype=float)
    np.testing.assert_array_equal(polygons.without_repeats(points), [[0, 0], [1, 0], [1, 1]])


@pytest.mark.parametrize(
    "points",
    ["text", [[1, 2, 3]], [1, 2], [[1, None]], [[float("nan"), 0]], [[10**400, 1]], [[1e300, 0]]],
)
def test_what_is_no_polygon_is_refused(points):
    with pytest.raises(InvalidInput, match="polygon: expected"):
        as_points(points)


def square(row, column, side):
    return UNIT * side + (row, column)


def test_holes_are_rings_in_an_odd_number_of_others():
    nested = [square(0, 0, 10), square(2, 2, 6), square(4, 4, 2), square(0, 20, 5)]
    assert polygons.are_holes(nested) == [False, True, False, False]
    assert polygons.total_area(nested, has_holes=True) == 100 - 36 + 4 + 25
    assert polygons.total_area(nested, has_holes=False) == 100 + 36 + 4 + 25
    assert polygons.first_meeting(nested, (50, 50)) is None


@given(rings, rings)
def test_rings_meet_as_exact_fractions_say(one, other):
    def sides(ring):
        return list(zip(exact(ring), exact(np.roll(ring, -1, axis=0)), strict=True))

    # Away from the frame, along which sides do not count.
    moved = [one + 1, other + 1]
    pairs = product(sides(moved[0]), sides(moved[1]))
    meet = any(sides_meet(*side, *other_side) for side, other_side in pairs)
    assert (polygons.first_meeting(moved, (1000, 1000)) is not None) == meet


def test_rings_may_run_along_the_frame_together():
    outer = as_points([(0, 0), (0, 30), (30, 30), (30, 0)])
    cut = as_points([(0, 10), (0, 20), (10, 20), (10, 10)])
    assert polygons.first_meeting([outer, cut], (40, 40)) is None
    assert polygons.first_meeting([outer, cut + 1], (40, 40)) is None
    assert polygons.first_meeting([outer, np.add(cut, (0, 15))], (40, 40)) is not None
