from __future__ import annotations

import math
import sys
import warnings
from itertools import product

import numpy as np
import pytest
from skimage.measure import marching_cubes

from segarena.arrays.boxes import bounding_window
from segarena.arrays.surface import element_areas, surface
from segarena.errors import InvalidInput


def whole(mask):
    return tuple(slice(0, n) for n in mask.shape)


def box(*sides, margin=2):
    return np.pad(np.ones(sides, dtype=bool), margin)


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (3.0, 0.8, 0.7)])
@pytest.mark.parametrize("sides", [(1, 1, 1), (2, 3, 4), (1, 5, 2)])
def test_surface_of_a_box_is_faces_bevelled_edges_and_cut_corners(sides, spacing):
    a, b, c = spacing
    m, n, o = (side - 1 for side in sides)
    faces = 2 * (m * n * a * b + m * o * a * c + n * o * b * c)
    edges = 4 * (m * a * math.hypot(b, c) + n * b * math.hypot(a, c) + o * c * math.hypot(a, b)) / 2
    corners = 8 * math.sqrt((a * b) ** 2 + (a * c) ** 2 + (b * c) ** 2) / 8
    mask = box(*sides)
    found = surface(mask, bounding_window(mask), spacing)
    assert math.isclose(found.areas.sum(), faces + edges + corners, rel_tol=1e-12)
    assert len(found.areas) == np.prod([side + 1 for side in sides]) - np.prod(
        [side - 1 for side in sides]
    )


def test_contour_of_a_rectangle_is_sides_and_cut_corners():
    mask = box(3, 5)
    found = surface(mask, whole(mask), (3.0, 4.0))
    assert math.isclose(found.areas.sum(), 2 * (2 * 3.0 + 4 * 4.0) + 4 * 2.5)


def test_ball_has_nearly_its_true_surface():
    plane, row, column = np.ogrid[-25:26, -25:26, -25:26]
    ball = plane**2 + row**2 + column**2 <= 20.5**2
    area = surface(ball, bounding_window(ball), (1.0, 1.0, 1.0)).areas.sum()
    assert 1.0 < area / (4 * math.pi * 20.5**2) < 1.12  # steps make it larger


@pytest.mark.parametrize(
    ("spacing", "total", "squares"),
    [
        ((1.0, 1.0, 1.0), 241.34313970553745, 267.0523395971635),
        ((3.0, 0.8, 0.7), 441.6106761702631, 912.6325491989614),
    ],
)
def test_areas_are_those_of_the_published_tool(spacing, total, squares):
    areas = element_areas(spacing)
    assert math.isclose(areas.sum(), total, rel_tol=1e-12)
    assert math.isclose((areas**2).sum(), squares, rel_tol=1e-12)
    assert areas[0] == areas[255] == 0
    assert (areas[1:255] > 0).all()


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (3.0, 0.8, 0.7), (0.1, 7.3, 1.9)])
def test_areas_equal_those_of_scikit_image_to_the_last_digit(spacing):
    scale = np.prod(spacing) / np.array(spacing)
    areas = element_areas(spacing)
    for code in range(1, 255):
        fewer = code if code.bit_count() <= 4 else 255 - code
        cube = np.array([fewer >> bit & 1 for bit in range(8)], dtype=np.float32)
        with warnings.catch_warnings():
            # NumPy 2.5 deprecates how scikit-image sets the shape of an array.
            warnings.simplefilter("ignore", DeprecationWarning)
            mesh = marching_cubes(cube.reshape(2, 2, 2), 0.5, method="lorensen")
        corners = mesh[0][mesh[1]].astype(np.float64)
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2
        assert areas[code] == np.linalg.norm(normals * scale, axis=1).sum()


def test_areas_do_not_need_scikit_image(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.measure", None)
    assert element_areas((1.0, 1.0, 1.5))[1] > 0


@pytest.mark.parametrize("spacing", [(2.0, 0.5), (3.0, 0.8, 0.7)])
def test_areas_do_not_change_with_mirrors_or_complement(spacing):
    areas = element_areas(spacing)
    shape = (2,) * len(spacing)
    weights = 2 ** np.arange(2 ** len(spacing)).reshape(shape)
    for bits in product((0, 1), repeat=2 ** len(spacing)):
        cube = np.reshape(bits, shape)
        own = areas[(cube * weights).sum()]
        assert math.isclose(own, areas[((1 - cube) * weights).sum()], abs_tol=1e-12)
        for axis in range(cube.ndim):
            assert math.isclose(own, areas[(np.flip(cube, axis) * weights).sum()], abs_tol=1e-12)


def test_elements_sit_where_inside_and_outside_meet():
    rng = np.random.default_rng(5)
    mask = rng.random((4, 5, 6)) > 0.5
    padded = np.pad(mask, 1)
    expected = [
        corner
        for corner in np.ndindex(5, 6, 7)
        if 0 < np.count_nonzero(padded[tuple(slice(i, i + 2) for i in corner)]) < 8
    ]
    assert surface(mask, whole(mask), (1.0, 1.0, 1.0)).positions.tolist() == [
        list(corner) for corner in expected
    ]


def test_voxel_border_has_a_face_neighbour_outside():
    rng = np.random.default_rng(6)
    mask = rng.random((5, 6, 7)) > 0.2
    padded = np.pad(mask, 1)
    expected = [
        [i, j, k]
        for i, j, k in np.argwhere(mask).tolist()
        if not all(
            padded[i + 1 + a, j + 1 + b, k + 1 + c]
            for d in (-1, 1)
            for a, b, c in ((d, 0, 0), (0, d, 0), (0, 0, d))
        )
    ]
    found = surface(mask, whole(mask), (1.0, 2.0, 3.0), convention="voxel-border")
    assert found.positions.tolist() == expected
    assert set(found.areas.tolist()) == {1.0}


@pytest.mark.parametrize("convention", ["marching-cubes", "voxel-border"])
def test_window_does_not_matter(convention):
    mask = np.zeros((9, 9, 9), dtype=bool)
    mask[0:3, 4, 4:9] = True
    small = surface(mask, bounding_window(mask), (2.0, 1.0, 1.0), convention=convention)
    large = surface(mask, whole(mask), (2.0, 1.0, 1.0), convention=convention)
    assert small.positions.tolist() == large.positions.tolist()
    assert small.areas.tolist() == large.areas.tolist()


def test_ignored_voxels_take_the_weight_of_what_touches_them():
    mask = box(3, 3, margin=3)
    ignore = np.zeros_like(mask)
    ignore[3, 3] = True
    found = surface(mask, whole(mask), (1.0, 1.0), ignore=ignore)
    without = surface(mask, whole(mask), (1.0, 1.0))
    assert found.positions.tolist() == without.positions.tolist()
    dropped = without.positions[(found.areas == 0)]
    assert dropped.tolist() == [[3, 3], [3, 4], [4, 3]]


def test_empty_mask_has_no_surface():
    empty = np.zeros((3, 3, 3), dtype=bool)
    found = surface(empty, bounding_window(empty), (1.0, 1.0, 1.0))
    assert found.positions.shape == (0, 3)
    assert found.areas.shape == (0,)


@pytest.mark.parametrize(
    ("shape", "spacing"),
    [((4,), (1.0,)), ((2, 2, 2), (1.0, 1.0)), ((2, 2), (1.0, 0.0)), ((2, 2), (math.nan, 1.0))],
)
def test_other_axes_and_edge_lengths_are_refused(shape, spacing):
    mask = np.ones(shape, dtype=bool)
    with pytest.raises(InvalidInput, match="2 or 3 axes with a positive edge length"):
        surface(mask, whole(mask), spacing)


def test_other_conventions_are_refused():
    with pytest.raises(InvalidInput, match="expected one of marching-cubes, voxel-border"):
        surface(np.ones((2, 2), dtype=bool), (slice(0, 2),) * 2, (1.0, 1.0), convention="voxels")
