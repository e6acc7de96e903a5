from __future__ import annotations

import math

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.arrays.surface import element_areas
from segarena.comparison import Comparison, Reference
from segarena.errors import InvalidInput, PluginInvalid
from segarena.metrics import surface
from segarena.metrics.surface import Nsd, SurfaceDistance, _steps_within, _surfaces, nsd
from segarena.registry import build

SPACINGS = st.sampled_from([(1.0, 1.0, 1.0), (3.0, 0.8, 0.8), (0.7, 1.3, 2.1)])
MASKS = hnp.arrays(
    np.bool_, hnp.array_shapes(min_dims=3, max_dims=3, max_side=5).map(lambda shape: (2, *shape))
)


def slow_elements(mask, spacing):
    """All corners that see both kinds of voxel, one by one, with their areas."""
    padded = np.pad(mask, 1)
    weights = 2 ** np.arange(2**mask.ndim).reshape((2,) * mask.ndim)
    elements = []
    for corner in np.ndindex(*(n + 1 for n in mask.shape)):
        around = padded[tuple(slice(i, i + 2) for i in corner)]
        if around.any() and not around.all():
            elements.append((np.array(corner), element_areas(spacing)[(around * weights).sum()]))
    return elements


def slow(prediction, target, spacing, tolerance):
    """NSD, HD95 and ASSD from the distances of all pairs."""
    one, two = slow_elements(prediction, spacing), slow_elements(target, spacing)
    within = total = moment = 0.0
    directed = []
    for own, other in ((one, two), (two, one)):
        far = sorted(
            (min(math.sqrt((((p - q) * np.array(spacing)) ** 2).sum()) for q, _ in other), area)
            for p, area in own
        )
        areas = np.array([area for _, area in far])
        within += sum(area for distance, area in far if distance <= tolerance)
        total += areas.sum()
        moment += sum(distance * area for distance, area in far)
        shares = np.cumsum(areas) / areas.sum()
        directed.append(
            next(
                distance for (distance, _), share in zip(far, shares, strict=True) if share >= 0.95
            )
        )
    return within / total, max(directed), moment / total


def shifted_planes(distance, spacing=(1.5, 1.0, 1.0)):
    target, prediction = np.zeros((2, 20, 6, 6), dtype=bool)
    target[:8] = True
    prediction[: 8 + distance] = True
    return Comparison.of(prediction, target, spacing_mm=spacing)


@given(MASKS, SPACINGS, st.sampled_from([0.0, 1.0, 2.4]))
def test_equals_the_distances_of_all_pairs(masks, spacing, tolerance):
    prediction, target = masks
    if not (prediction.any() and target.any()):
        return
    comparison = Comparison.of(prediction, target, spacing_mm=spacing)
    record = SurfaceDistance()(comparison)
    expected = slow(prediction, target, spacing, tolerance)
    found = (Nsd(tolerance_mm=tolerance)(comparison), record["hd95_mm"], record["assd_mm"])
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)


@given(MASKS, SPACINGS, st.floats(0, 5), st.integers(0, 2))
def test_nsd_is_a_symmetric_share_that_flips_and_frames_do_not_change(
    masks, spacing, tolerance, axis
):
    prediction, target = masks
    value = nsd(prediction, target, spacing, tolerance_mm=tolerance)
    assert 0 <= value <= 1
    assert math.isclose(
        value, nsd(target, prediction, spacing, tolerance_mm=tolerance), rel_tol=1e-12
    )
    assert nsd(prediction, prediction, spacing, tolerance_mm=0) == 1.0
    flipped = nsd(np.flip(prediction, axis), np.flip(target, axis), spacing, tolerance_mm=tolerance)
    assert math.isclose(value, flipped, rel_tol=1e-12)
    framed = nsd(np.pad(prediction, 3), np.pad(target, 3), spacing, tolerance_mm=tolerance)
    assert math.isclose(value, framed, rel_tol=1e-12)
    assert value <= nsd(prediction, target, spacing, tolerance_mm=tolerance + 1) + 1e-12


@pytest.mark.parametrize(
    ("seed", "shape", "spacing", "tolerance", "together", "apart"),
    [
        (1, (6, 7, 8), (1.0, 1.0, 1.0), 1.0,
         (0.9925103224354911, 1.0, 0.12388471494205434), (0.4390748537285548, 4.0, 1.7063871418538974)),
        (2, (5, 9, 9), (3.0, 0.8, 0.8), 2.0,
         (0.9991856922204585, 0.8, 0.12139752385105725), (0.22787999747537374, 9.0, 3.6634066401294785)),
        (3, (4, 8, 8), (0.7, 1.3, 2.1), 1.5,
         (0.9896291520859348, 1.3, 0.18638165598527182), (0.861025957916321, 2.2135943621178655, 1.0382380932081812)),
        (4, (9, 12), (1.5, 0.6), 1.0,
         (0.9170887885592036, 1.2, 0.22458637358506048), (0.1266146097244425, 10.5, 4.321087330263616)),
    ],
)  # fmt: skip
def test_equals_the_published_tool(seed, shape, spacing, tolerance, together, apart):
    """Values of surface-distance 0.1 on the same masks."""
    prediction, target = np.random.default_rng(seed).random((2, *shape)) > 0.7
    for expected in (together, apart):
        comparison = Comparison.of(prediction.copy(), target.copy(), spacing_mm=spacing)
        record = SurfaceDistance()(comparison)
        found = (Nsd(tolerance_mm=tolerance)(comparison), record["hd95_mm"], record["assd_mm"])
        assert np.allclose(found, expected, rtol=1e-12)
        prediction[2:] = False
        target[:2] = False


def test_plane_shifted_along_the_thick_axis_counts_in_millimetres():
    assert Nsd()(shifted_planes(1)) == 1.0  # 1.5 mm
    # 3 mm: the end of the longer block is too far, and the middle of the other's end, 3 mm from every wall, as well.
    edge, corner = math.hypot(1.5, 1) / 2, math.sqrt(1.5**2 + 1.5**2 + 1) / 8
    end = 25 + 20 * edge + 4 * corner
    wall_per_plane = 4 * 5 * 1.5 + 4 * 1.5 * math.hypot(1, 1) / 2
    total = 4 * end + (7 + 9) * wall_per_plane
    assert math.isclose(Nsd()(shifted_planes(2)), 1 - (end + 1) / total, rel_tol=1e-12)


def test_single_voxels_apart_by_exactly_the_tolerance_are_within_it():
    target, prediction = np.zeros((2, 5, 5, 5), dtype=bool)
    target[1, 2, 2] = prediction[3, 2, 2] = True
    spacing = (1.0, 0.5, 0.5)
    # Corners of one voxel, a plane thick, lie 1 mm (4 of them) and 2 mm (the other 4) from those of the other.
    assert nsd(prediction, target, spacing, tolerance_mm=2.0) == 1.0
    assert nsd(prediction, target, spacing, tolerance_mm=1.999) == 0.5
    assert nsd(prediction, target, spacing, tolerance_mm=0.999) == 0.0
    record = SurfaceDistance()(Comparison.of(prediction, target, spacing_mm=spacing))
    assert record == {"hd95_mm": 2.0, "assd_mm": 1.5}


def test_hd95_leaves_out_a_speck_that_the_hausdorff_distance_sees():
    target = np.zeros((20, 40, 40), dtype=bool)
    target[2:12, 2:22, 2:22] = True
    prediction = target.copy()
    prediction[5, 5, 35] = True
    comparison = Comparison.of(prediction, target, spacing_mm=(2.0, 1.0, 1.0))
    assert SurfaceDistance()(comparison)["hd95_mm"] == 0.0
    assert (
        SurfaceDistance(percentile=100)(comparison)["hd95_mm"] == 14.0
    )  # its far side, from the block's last one


def test_two_empty_masks_and_one_empty_mask():
    empty, full = np.zeros((4, 3, 12), dtype=bool), np.ones((4, 3, 12), dtype=bool)
    assert nsd(empty, empty) == 1.0
    assert math.isnan(build("metric", "nsd(empty='nan')")(Comparison.of(empty, empty)))
    assert nsd(full, empty) == nsd(empty, full) == 0.0
    distance = SurfaceDistance()
    assert distance(Comparison.of(empty, empty)) == {"hd95_mm": 0.0, "assd_mm": 0.0}
    half = Comparison.of(full, empty, spacing_mm=(1.0, 1.0, 0.25))  # 4 x 3 x 3 mm
    assert distance(half) == dict.fromkeys(("hd95_mm", "assd_mm"), math.sqrt(34))
    assert SurfaceDistance(one_empty="inf")(half)["hd95_mm"] == math.inf
    assert SurfaceDistance(one_empty=50)(half)["assd_mm"] == 50


@pytest.mark.long
def test_specks_far_from_the_target_count_by_their_area_only():
    target, prediction = np.zeros((2, 40, 40, 40), dtype=bool)
    target[10:14, 10:14, 10:14] = True
    prediction[35, 35, 35] = True
    spacing = (2.0, 1.0, 1.0)
    assert nsd(prediction, target, spacing) == 0.0
    prediction[10:14, 10:14, 10:14] = True
    expected = slow(prediction, target, spacing, 2.0)[0]
    assert 0.9 < expected < 1
    assert math.isclose(nsd(prediction, target, spacing), expected, rel_tol=1e-12)


def test_voxel_borders_are_another_convention():
    target, prediction = np.zeros((2, 8, 8, 8), dtype=bool)
    target[2:5, 2:5, 2:5] = True
    prediction[2:5, 2:5, 2:6] = True
    # Of 26 and 34 border voxels only the 9 of the far face lie 1 voxel from the target's; the target's middle face
    # voxel on that side is now inside the prediction, 1 voxel from its border.
    found = nsd(prediction, target, tolerance_mm=0, convention="voxel-border")
    assert found == (26 - 1 + 34 - 9) / (26 + 34)
    assert nsd(prediction, target, tolerance_mm=1, convention="voxel-border") == 1.0


def test_edge_of_an_ignored_region_is_no_surface():
    target = np.zeros((10, 30, 30), dtype=bool)
    target[2:8, 5:25, 5:25] = True
    prediction = target.copy()
    prediction[:, :, 15:] = False
    ignore = np.zeros_like(target)
    ignore[:, :, 14:] = True
    assert nsd(prediction, target, ignore=ignore, tolerance_mm=0) == 1.0
    assert nsd(prediction, target, tolerance_mm=0) < 0.7
    everything = np.ones_like(target)
    assert nsd(prediction, target, ignore=everything) == 1.0


def test_pixels_are_the_unit_in_images():
    target, prediction = np.zeros((2, 9, 9), dtype=bool)
    target[2, 2] = prediction[2, 4] = True
    assert nsd(prediction, target, tolerance_mm=2) == 1.0
    assert nsd(prediction, target, tolerance_mm=1.5) == 0.5


def test_surface_of_the_target_is_found_once(monkeypatch):
    from segarena.metrics import surface as module

    calls = []
    original = module.surface
    monkeypatch.setattr(
        module, "surface", lambda *args, **options: calls.append(1) or original(*args, **options)
    )
    reference = Reference(np.ones((3, 3, 3), dtype=bool), spacing_mm=(1.0, 1.0, 1.0))
    for _ in range(3):
        comparison = Comparison(np.ones((3, 3, 3), dtype=bool), reference)
        Nsd()(comparison)
        SurfaceDistance()(comparison)
    assert len(calls) == 1 + 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nsd(tolerance_mm=-1)", "tolerance_mm of at least 0"),
        ("nsd(convention='voxels')", "expected one of 'marching-cubes', 'voxel-border'"),
        ("surface_distance(percentile=0)", "percentile above 0"),
        ("surface_distance(one_empty='far')", "'diagonal', 'inf', 'nan' or a number"),
    ],
)
def test_options_that_mean_nothing_are_refused(text, message):
    with pytest.raises(PluginInvalid, match=message):
        build("metric", text)


@pytest.mark.parametrize("measure", [Nsd, SurfaceDistance])
def test_an_unknown_convention_is_refused_before_the_first_evaluation(measure):
    with pytest.raises(InvalidInput, match="expected one of marching-cubes, voxel-border"):
        measure(convention="voxels")


TOLERANCES = st.sampled_from([0.0, 0.4, 0.7, 1.0, 1.4, 2.0, 2.1, 3.0, 4.2, 40.0, 1e9, math.inf])


@given(
    hnp.arrays(
        np.bool_,
        hnp.array_shapes(min_dims=2, max_dims=3, max_side=7).map(lambda shape: (3, *shape)),
    ),
    st.sampled_from([1.0, 0.7, 0.3, 2.0]),
    st.sampled_from([1.0, 0.8, 3.0]),
    TOLERANCES,
    st.booleans(),
)
def test_nsd_by_looking_up_steps_equals_that_by_distances(masks, first, rest, tolerance, is_hidden):
    spacing = (first, *[rest] * (masks.ndim - 2))
    ignore = masks[2] if is_hidden else None
    comparison = Comparison.of(masks[0], masks[1], ignore, spacing_mm=spacing)
    one, other = _surfaces(comparison, "marching-cubes")
    for ours, theirs in ((one, other), (other, one)):
        expected = ours.distances_to(theirs, at_most=tolerance) <= tolerance
        np.testing.assert_array_equal(ours.are_within(theirs, tolerance), expected)


@pytest.mark.parametrize("limit", ["_MOST_GRID_CELLS", "_MOST_STEPS", "_LOOKUPS_AT_ONCE"])
def test_limits_of_the_look_up_do_not_change_nsd(limit, monkeypatch, rng):
    masks = rng.random((2, 9, 10, 11)) < 0.2
    before = nsd(*masks, spacing_mm=(1.1, 0.8, 0.9), tolerance_mm=1.2)
    monkeypatch.setattr(surface, limit, 2)
    _steps_within.cache_clear()
    assert nsd(*masks, spacing_mm=(1.1, 0.8, 0.9), tolerance_mm=1.2) == before
    _steps_within.cache_clear()
