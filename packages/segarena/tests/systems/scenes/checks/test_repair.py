import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from segarena.arrays.coco_rle import Rle
from segarena.arrays.polygon_points import as_points
from segarena.systems.scenes.checks.repair import repair_polygon, repair_scene
from segarena.systems.scenes.checks.single_annotation_checks import check_scene
from segarena.systems.scenes.model import polygons
from segarena.systems.scenes.model.scene import ImageRecord, Region, make_scene

SHAPE = (100, 100)
IMAGE = ImageRecord(id="7", shape=SHAPE)
GRID = st.integers(-20, 120).map(float)
SQUARE = [(10, 10), (10, 60), (60, 60), (60, 10)]


@given(st.lists(st.tuples(GRID, GRID), max_size=12))
def test_repaired_polygons_are_inside_the_frame_and_nearly_always_simple(points):
    mended = repair_polygon(as_points(points), SHAPE)
    if len(mended):
        assert polygons.area(mended) > 0
        assert mended.min() >= 0
        assert (mended <= SHAPE).all()
        # What remains is a touch within rounding of a crossing that has no exact coordinates.
        for crossing in polygons.crossings(mended):
            assert distance(mended, crossing) < 1e-6


def distance(points, crossing):
    ends = np.roll(points, -1, axis=0)
    sides = [np.array([points[k], ends[k]]) for k in (crossing.first, crossing.second)]
    return min(
        abs(np.cross(side[1] - side[0], point - side[0]))
        / max(np.hypot(*(side[1] - side[0])), 1e-9)
        for side, other in (sides, sides[::-1])
        for point in other
    )


def test_sound_polygons_are_left_as_they_are():
    points = as_points(SQUARE)
    np.testing.assert_array_equal(repair_polygon(points, SHAPE), points)
    scene = make_scene(IMAGE, [(Region(id="1", name="x"), [SQUARE])])
    assert repair_scene(scene) == (scene, ())


def test_a_small_loop_is_cut_off_and_the_rest_stays():
    looped = [(10, 10), (10, 60), (60, 60), (60, 30), (65, 35), (65, 30), (60, 35), (60, 10)]
    mended = repair_polygon(as_points(looped), SHAPE)
    assert polygons.crossings(mended) == []
    assert abs(polygons.area(mended) - 2500) < 30


def test_a_scene_keeps_names_and_order_and_loses_what_cannot_be():
    drawn = [
        (
            Region(id="1", name="", stated_occlusion=0.0),
            [[(10, 10), (10, 120), (60, 120), (60, 10)]],
        ),
        (Region(id="2", name="line"), [[(10, 10), (20, 20), (30, 30)]]),
        (Region(id="3", name="cat", visible_mask=Rle((3, 3), "9")), [SQUARE]),
        (Region(id="4", name="dog", visible_mask=Rle(SHAPE, "9")), [SQUARE]),
    ]
    mended, changes = repair_scene(make_scene(IMAGE, drawn))
    assert [(region.id, region.name) for region in mended.regions] == [
        ("1", ""),
        ("3", "cat"),
        ("4", "dog"),
    ]
    assert all(region.visible_mask is None for region in mended.regions)
    assert polygons.area(mended.polygons(mended.regions[0])[0]) == 50 * 90
    assert {change.severity for change in changes} == {"note"}
    assert not {"outside", "degenerate", "mask"} & {defect.kind for defect in check_scene(mended)}


def test_pairs_that_contradict_the_order_are_dropped_and_the_others_kept():
    drawn = [(Region(id=k, name="x"), [SQUARE]) for k in "abc"]
    scene = make_scene(IMAGE, drawn, stated_pairs=(("a", "b"), ("c", "a")))
    assert repair_scene(scene).scene.stated_pairs == (("a", "b"),)
