"""Stored and canonical axes, compared with nibabel's reorientation for all 48 axis codes and oblique affines."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from segarena.arrays.orientation import Grid
from segarena.errors import InvalidImage, InvalidInput

nibabel = pytest.importorskip("nibabel")

SHAPE = (3, 4, 5)
CODES = [
    "".join(letters)
    for pairs in itertools.permutations(("LR", "PA", "IS"))
    for letters in itertools.product(*pairs)
]


def affine_of(code, spacing=(0.5, 0.75, 5.0), origin=(-20.0, 7.0, 300.0)):
    """Return an affine whose stored axes grow to the letters of `code`."""
    affine = np.eye(4)
    affine[:3, :3] = 0
    for axis, letter in enumerate(code):
        world = next(i for i, pair in enumerate(("LR", "PA", "IS")) if letter in pair)
        affine[world, axis] = spacing[axis] * (1 if letter in "RAS" else -1)
    affine[:3, 3] = origin
    return affine


def numbered(shape=SHAPE):
    return np.arange(np.prod(shape), dtype=np.int32).reshape(shape)


@st.composite
def oblique_affines(draw):
    """Generate a rotation, axis code, spacing, origin and a little shear, away from the boundary between two codes."""
    numbers = st.floats(-1, 1, allow_nan=False)
    quaternion = np.array([draw(numbers) for _ in range(4)])
    assume(np.linalg.norm(quaternion) > 0.1)
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    code = affine_of(draw(st.sampled_from(CODES)), spacing=(1, 1, 1))[:3, :3]
    shear = np.eye(3)
    shear[0, 1], shear[1, 2] = 0.3 * draw(numbers), 0.3 * draw(numbers)
    spacing = [draw(st.floats(0.1, 10)) for _ in range(3)]
    affine = np.eye(4)
    affine[:3, :3] = rotation @ code @ shear * spacing
    affine[:3, 3] = [1000 * draw(numbers) for _ in range(3)]
    strengths = np.sort(np.abs(affine[:3, :3] / spacing).ravel())
    assume(np.diff(strengths).min() > 1e-9)
    return affine


def reference(array, affine):
    """Return nibabel's closest canonical array and affine, transposed to (z, y, x)."""
    image = nibabel.as_closest_canonical(nibabel.Nifti1Image(array, affine))
    reverse = np.eye(4)[[2, 1, 0, 3]]
    return np.asarray(image.dataobj).T, image.affine @ reverse


def millimetres(affine, positions):
    return np.asarray(positions) @ affine[:3, :3].T + affine[:3, 3]


@pytest.mark.parametrize("code", CODES)
def test_every_axis_code_becomes_what_nibabel_makes_of_it(code):
    affine = affine_of(code)
    grid = Grid(SHAPE, affine)
    voxels, expected = reference(numbered(), affine)
    assert grid.code == code == "".join(nibabel.aff2axcodes(affine))
    assert grid.canonical.code == "SAR"
    np.testing.assert_array_equal(grid.to_canonical(numbered()), voxels)
    np.testing.assert_array_equal(grid.canonical.affine, expected)
    assert grid.canonical.shape == voxels.shape


@given(affine=oblique_affines())
def test_oblique_affines_become_what_nibabel_makes_of_them(affine):
    grid = Grid(SHAPE, affine)
    voxels, expected = reference(numbered(), affine)
    np.testing.assert_array_equal(grid.to_canonical(numbered()), voxels)
    np.testing.assert_allclose(grid.canonical.affine, expected, atol=1e-9)
    np.testing.assert_allclose(grid.spacing_mm, nibabel.affines.voxel_sizes(affine))


@given(affine=oblique_affines(), slice_axis=st.sampled_from(["axial", "largest-spacing"]))
def test_arrays_and_positions_go_there_and_back_and_stay_in_their_place(affine, slice_axis):
    grid = Grid(SHAPE, affine, slice_axis)
    canonical = grid.to_canonical(numbered())
    np.testing.assert_array_equal(grid.to_stored(canonical), numbered())
    stored = np.argwhere(np.ones(SHAPE, dtype=bool))
    moved = grid.positions_to_canonical(stored)
    np.testing.assert_array_equal(canonical[tuple(moved.T)], numbered()[tuple(stored.T)])
    np.testing.assert_array_equal(grid.positions_to_stored(moved), stored)
    np.testing.assert_allclose(
        millimetres(grid.canonical.affine, moved), millimetres(affine, stored), atol=1e-9
    )


@given(
    affine=oblique_affines(),
    corner=st.tuples(*(st.integers(0, n - 1) for n in SHAPE)),
    data=st.data(),
)
def test_a_box_holds_the_same_voxels_on_both_sides(affine, corner, data):
    grid = Grid(SHAPE, affine)
    stop = tuple(data.draw(st.integers(low + 1, n)) for low, n in zip(corner, SHAPE, strict=True))
    start_c, stop_c = grid.box_to_canonical(corner, stop)
    inside = grid.to_canonical(numbered())[tuple(map(slice, start_c, stop_c))]
    assert set(inside.ravel()) == set(numbered()[tuple(map(slice, corner, stop))].ravel())
    assert grid.box_to_stored(start_c, stop_c) == (corner, stop)


@given(affine=oblique_affines(), slice_axis=st.sampled_from(["axial", "largest-spacing"]))
def test_a_canonical_grid_stays_as_it_is(affine, slice_axis):
    canonical = Grid(SHAPE, affine, slice_axis).canonical
    assert canonical.order == (0, 1, 2)
    assert not any(canonical.is_flipped)


@pytest.mark.parametrize("code", CODES)
def test_the_same_voxels_stored_in_any_code_are_the_same_canonical_volume(code):
    stored = nibabel.Nifti1Image(numbered(), affine_of("LPS"))
    target = nibabel.orientations.axcodes2ornt(code)
    turn = nibabel.orientations.ornt_transform(nibabel.io_orientation(stored.affine), target)
    other = stored.as_reoriented(turn)
    mine, its = Grid(SHAPE, stored.affine), Grid(other.shape, other.affine)
    np.testing.assert_array_equal(
        mine.to_canonical(numbered()), its.to_canonical(np.asarray(other.dataobj))
    )
    assert mine.difference(its) is None


def test_fractional_positions_keep_their_fraction():
    grid = Grid(SHAPE, affine_of("LPI"))
    np.testing.assert_array_equal(grid.positions_to_canonical([0.25, 1.5, 4.0]), [0.0, 1.5, 1.75])


def test_reorienting_copies_nothing():
    array = numbered()
    assert np.shares_memory(Grid(SHAPE, affine_of("PIR")).to_canonical(array), array)


def test_axes_behind_the_three_are_left_alone():
    groups = np.stack([numbered(), -numbered()], axis=3)
    grid = Grid(SHAPE, affine_of("IPL"))
    np.testing.assert_array_equal(grid.to_canonical(groups)[..., 1], grid.to_canonical(-numbered()))
    np.testing.assert_array_equal(grid.to_stored(grid.to_canonical(groups)), groups)


def test_spacing_is_the_length_of_the_columns_not_the_diagonal():
    affine = affine_of("PIR", spacing=(0.5, 3.0, 2.0))
    assert np.diag(affine)[0] == 0
    assert Grid(SHAPE, affine).spacing_mm == (0.5, 3.0, 2.0)
    assert Grid(SHAPE, affine).canonical.spacing_mm == (3.0, 0.5, 2.0)


@pytest.mark.parametrize(
    ("spacing", "code"),
    [
        ((0.5, 0.5, 5.0), "SAR"),
        ((0.5, 5.0, 0.5), "ASR"),
        ((5.0, 0.5, 0.5), "RSA"),
        ((1.0, 1.0, 1.0), "SAR"),
        ((5.0, 5.0, 1.0), "SAR"),
        ((1.0, 5.001, 5.0), "SAR"),
    ],
)
def test_the_axis_of_largest_spacing_comes_first_and_ties_stay_axial(spacing, code):
    grid = Grid(SHAPE, affine_of("LPI", spacing=spacing), "largest-spacing")
    assert grid.canonical.code == code
    assert Grid(SHAPE, affine_of("LPI", spacing=spacing)).canonical.code == "SAR"


def test_grids_apart_are_told_with_the_distance():
    grid = Grid(SHAPE, affine_of("RAS"))
    shifted = affine_of("RAS", origin=(-20.0, 7.0, 302.5))
    assert "2.5 mm" in grid.difference(Grid(SHAPE, shifted))
    assert "(5, 4, 2)" in grid.difference(Grid((2, 4, 5), affine_of("RAS")))
    assert grid.difference(Grid(SHAPE, affine_of("RAS", origin=(-20.04, 7.0, 300.0)))) is None


def test_a_small_difference_of_spacing_adds_up_over_the_volume():
    long = (100, 4, 5)
    finer = affine_of("RAS", spacing=(0.499, 0.75, 5.0))
    assert Grid(SHAPE, affine_of("RAS")).difference(Grid(SHAPE, finer)) is None
    assert "0.099 mm" in Grid(long, affine_of("RAS")).difference(Grid(long, finer))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a[:, 0].fill(0), "positive spacing"),
        (lambda a: a.__setitem__((slice(0, 3), 1), a[:3, 0]), "singular"),
        (lambda a: a.__setitem__((0, 3), np.nan), "numbers below"),
        (lambda a: a.__setitem__((0, 3), -np.inf), "numbers below"),
        (lambda a: a.__setitem__((0, 0), 1e300), "numbers below"),
        (lambda a: a.__setitem__((0, 0), 1e-300), "positive spacing"),
        (lambda a: a.__setitem__((3, 0), 1), "last row"),
    ],
)
def test_an_impossible_affine_is_refused(change, words):
    affine = affine_of("RAS")
    change(affine)
    with pytest.raises(InvalidImage, match=words):
        Grid(SHAPE, affine)


@pytest.mark.parametrize("shape", [(3, 4), (3, 0, 5), (3, 4, 5, 2)])
def test_anything_but_three_axes_is_refused(shape):
    with pytest.raises(InvalidImage, match="three axes"):
        Grid(shape, np.eye(4))


def test_arrays_of_another_shape_and_unknown_slice_axes_are_refused():
    with pytest.raises(InvalidInput, match="shape"):
        Grid(SHAPE, affine_of("IPL")).to_canonical(np.zeros((5, 4, 3)))
    with pytest.raises(InvalidInput, match="shape"):
        Grid(SHAPE, affine_of("IPL")).to_stored(np.zeros((9, 4, 3)))
    with pytest.raises(InvalidInput, match="largest-spacing"):
        Grid(SHAPE, np.eye(4), "coronal")
