from dataclasses import replace

import numpy as np
import pytest

from segarena.arrays.coco_rle import Rle
from segarena.arrays.polygon_fill import Patch
from segarena.systems.scenes.checks.consensus import check_set, match_regions
from segarena.systems.scenes.checks.single_annotation_checks import (
    QualityLimits,
    check_scene,
    region_centre,
)
from segarena.systems.scenes.demo.scene_generator import (
    ANNOTATORS,
    Sloppiness,
    demo_scenes,
    draw_annotation,
)
from segarena.systems.scenes.model.rasters import RegionRaster, rasterise
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene, SceneSet, make_scene

SHAPE = (120, 160)
IMAGE = ImageRecord(id="7", shape=SHAPE)


def box(top, left, bottom, right):
    return [(top, left), (top, right), (bottom, right), (bottom, left)]


def scene_of(*polygons, **facts):
    drawn = [(Region(id=str(k), name="thing"), [points]) for k, points in enumerate(polygons, 1)]
    return make_scene(IMAGE, drawn, annotator="kim", **facts)


def kinds(scene, **limits):
    return {defect.kind for defect in check_scene(scene, limits=QualityLimits(**limits))}


def only(scene, kind):
    (defect,) = [defect for defect in check_scene(scene) if defect.kind == kind]
    assert (defect.image, defect.annotator) == ("7", "kim")
    return defect


SOUND = box(20, 20, 60, 70)


def test_a_sound_annotation_has_no_defect():
    assert check_scene(scene_of(SOUND, box(40, 30, 110, 140))) == []


def test_an_annotation_without_regions_is_told():
    assert kinds(Scene(image=IMAGE)) == {"empty"}


@pytest.mark.parametrize(("right", "expected"), [(4, set()), (3, {"small"})])
def test_a_region_of_a_tiny_image_may_be_as_small_as_a_sixteenth_of_it(right, expected):
    drawn = [(Region(id="1", name="thing"), [box(2, 2, 4, right)])]
    scene = make_scene(ImageRecord(id="8", shape=(8, 8)), drawn)
    assert kinds(scene) & {"small"} == expected


def test_a_frame_of_a_video_may_have_no_regions():
    def scene(image_id, file_name, *attributes):
        image = ImageRecord(id=image_id, shape=SHAPE, file_name=file_name)
        drawn = [(Region(id="1", name="dog", attributes=keys), [SOUND]) for keys in attributes]
        return make_scene(image, drawn, annotator="kim")

    scenes = SceneSet(
        scenes=(
            scene("1", "dog/000.jpg", {"track_id": "r1"}),
            scene("2", "dog/001.jpg"),
            scene("3", "street.jpg"),
        )
    )
    found = {defect.image: defect.severity for defect in check_set(scenes)}
    assert found == {"2": "note", "3": "error"}


@pytest.mark.parametrize(
    ("points", "kind", "place"),
    [
        ([(20, 20), (60, 70), (20, 70), (60, 20)], "self-intersection", (40, 45)),
        ([(20, 20), (60, 60), (100, 100)], "degenerate", (20, 20)),
        ([(20, 20), (20, 20)], "degenerate", (20, 20)),
        ([(20, 20), (60, 20), (60, 70)], "few-vertices", (20, 20)),
        ([*SOUND[:2], SOUND[1], *SOUND[2:]], "repeated-vertex", SOUND[1]),
        ([*SOUND[:2], (40, 170), *SOUND[2:]], "outside", (40, 170)),
        ([*SOUND[:2], (39, 70), (40, 110), (41, 70), *SOUND[2:]], "spike", (40, 110)),
        (box(2, 2, 20, 20), "small", None),
    ],
)
def test_each_fault_of_a_polygon_is_found_at_its_place(points, kind, place):
    defect = only(scene_of(points), kind)
    assert defect.regions == ("1",)
    if place is not None:
        assert defect.place == pytest.approx(place)


def test_long_sides_are_noted_and_boxes_are_not():
    assert "coarse" not in kinds(scene_of(box(5, 5, 110, 150)))
    assert (
        only(scene_of([(5, 5), (5, 80), (5, 150), (110, 150), (110, 5)]), "coarse").severity
        == "note"
    )


def test_nameless_regions_and_regions_without_an_outline_are_told():
    scene = scene_of(SOUND)
    assert only(scene.renamed("1", " \t"), "unnamed").severity == "error"
    bare = scene.replaced(Region(id="1", name="thing"))
    assert only(bare, "no-outline").regions == ("1",)


def test_what_lies_wholly_behind_is_an_error_of_the_order():
    defect = only(scene_of(box(10, 10, 110, 150), SOUND), "contained")
    assert defect.regions == ("1", "2")
    assert "contained" not in kinds(scene_of(SOUND, box(10, 10, 110, 150)))
    two_in_front = scene_of(box(10, 10, 70, 45), box(10, 45, 70, 90), SOUND)
    assert only(two_in_front, "hidden").severity == "error"
    nearly = scene_of(box(10, 10, 110, 69), SOUND)
    assert only(nearly, "hidden").severity == "warning"


def test_regions_drawn_twice_are_told():
    assert only(scene_of(SOUND, box(20, 20, 60, 71)), "duplicate").regions == ("1", "2")
    assert "duplicate" not in kinds(scene_of(SOUND, box(20, 20, 60, 90)))


def test_borders_drawn_twice_are_told_and_shared_ones_are_not():
    apart = scene_of(SOUND, box(20, 72, 60, 120))
    defect = only(apart, "double-border")
    assert (defect.regions, defect.severity) == (("1", "2"), "warning")
    assert defect.place == pytest.approx((40, 70), abs=2)
    assert "double-border" not in kinds(scene_of(SOUND, box(20, 70, 60, 120)))
    assert "double-border" not in kinds(scene_of(SOUND, box(20, 76, 60, 120)))
    # Both end at the frame of the image, where nobody draws an edge.
    assert "double-border" not in kinds(scene_of(box(0, 0, 40, 40), box(0, 20, 60, 90)))


def test_a_region_drawn_around_what_is_in_front_of_it_is_modal():
    front = box(20, 60, 90, 100)
    around = [
        (10, 20),
        (10, 140),
        (100, 140),
        (100, 100),
        (20, 100),
        (20, 60),
        (100, 60),
        (100, 20),
    ]
    assert only(scene_of(front, around), "modal").regions == ("2", "1")
    assert "modal" not in kinds(scene_of(front, box(10, 20, 100, 140)))


def test_numbers_in_the_file_that_are_not_those_of_the_pixels_are_told():
    region = scene_of(SOUND).regions[0]
    wrong = replace(region, stated_area_px=3000, stated_occlusion=0.4)
    found = kinds(scene_of(SOUND).replaced(wrong))
    assert found == {"stated-area", "stated-occlusion"}
    right = replace(region, stated_area_px=2000, stated_occlusion=0.0)
    assert check_scene(scene_of(SOUND).replaced(right)) == []


def test_pairs_that_contradict_the_order_are_told():
    scene = scene_of(SOUND, box(40, 30, 110, 140), stated_pairs=(("2", "1"),))
    assert only(scene, "pairs").regions == ("2", "1")


def test_masks_of_another_size_are_told_and_spoil_no_other_annotation():
    bad = Scene(
        image=IMAGE, annotator="kim", regions=(Region(id="1", name="x", mask=Rle((3, 3), "9")),)
    )
    found = check_set(SceneSet(scenes=(bad, scene_of(box(2, 2, 9, 9)))))
    assert [defect.kind for defect in found] == ["mask", "small"]
    assert "image 7, annotator kim, region 1" in found[0].message


def test_limits_can_be_set():
    assert "small" in kinds(scene_of(SOUND), least_area_px=3000)
    assert "small" not in kinds(scene_of(box(2, 2, 20, 20)), least_area_px=100)


@pytest.mark.long
def test_generated_truth_has_no_error_and_every_annotators_fault_is_found():
    for demo in demo_scenes(images=8, seed=3):
        assert not [d for d in check_scene(demo.truth.scene) if d.severity == "error"]
        drawn = SceneSet(scenes=tuple(drawing.scene for drawing in demo.drawings))
        found = check_set(drawn)
        names = {drawing.sloppiness.annotator: drawing for drawing in demo.drawings}
        told = [defect for defect in found if defect.kind == "missing"]
        assert {defect.annotator for defect in told} <= {"forgetful"}
        assert len(told) == len(names["forgetful"].missing)
        for defect in found:
            if defect.kind == "order":
                front, behind = defect.regions
                true_places = [demo.truth.scene.place(region) for region in (front, behind)]
                assert defect.annotator == "confused"
                assert true_places[0] > true_places[1]


def test_swapped_regions_that_overlap_are_told_by_the_order_of_the_others():
    demo = demo_scenes(images=1)[0]
    exact = demo.drawings[0].scene
    front, behind = next(pair for pair in demo.truth.pairs if pair[1] == pair[0] + 1)
    wrong = replace(exact.moved(exact.regions[behind].id, front), annotator="wrong")
    others = [replace(exact, annotator=name) for name in ("a", "b", "c")]
    told = [d for d in check_set(SceneSet(scenes=(wrong, *others))) if d.kind == "order"]
    ids = {exact.regions[front].id, exact.regions[behind].id}
    assert [(d.annotator, set(d.regions)) for d in told] == [("wrong", ids)]


def test_two_annotators_alone_outvote_nobody():
    demo = demo_scenes(images=1)[0]
    less = demo.drawings[0].scene.without("1")
    found = check_set(SceneSet(scenes=(replace(less, annotator="x"), demo.drawings[1].scene)))
    assert not {d.kind for d in found} & {"missing", "order", "coverage"}


def test_less_coverage_than_the_others_is_told():
    exact = demo_scenes(images=1)[0].drawings[0].scene
    less = exact
    for region in exact.regions:
        less = less.without(region.id) if region.is_stuff else less
    found = check_set(
        SceneSet(scenes=(replace(less, annotator="x"), exact, replace(exact, annotator="y")))
    )
    assert [d.annotator for d in found if d.kind == "coverage"] == ["x"]


def test_matching_finds_the_same_regions_whatever_their_order():
    demo = demo_scenes(images=1)[0]
    one = demo.truth.scene
    rng = np.random.default_rng(0)
    ids = [region.id for region in one.regions]
    other = draw_annotation(demo.truth, Sloppiness(annotator="x", vertex_noise_px=0.3), rng).scene
    other = other.reordered([ids[k] for k in rng.permutation(len(ids))])
    for a, b in match_regions(rasterise(one), rasterise(other)).items():
        assert one.regions[a].id == other.regions[b].id
    assert len(match_regions(rasterise(one), rasterise(other))) == len(ids)
    assert match_regions(rasterise(one), rasterise(Scene(image=one.image))) == {}


def test_there_are_five_annotators():
    assert len({sloppiness.annotator for sloppiness in ANNOTATORS}) == 5


def centre_of_all_pixels(raster):
    """Return the pixel centre nearest to the centroid, by the distances of all pixels."""
    rows, columns = np.nonzero(raster.amodal.full(raster.shape))
    if not len(rows):
        return None
    squared = (rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2
    nearest = int(squared.argmin())
    return rows[nearest] + 0.5, columns[nearest] + 0.5


@pytest.mark.parametrize("kind", ["random", "ring", "corners", "dot", "nothing"])
def test_centre_is_the_pixel_nearest_to_the_centroid(kind, rng):
    for _ in range(20):
        height, width = (int(side) for side in rng.integers(1, 60, 2))
        mask = rng.random((height, width)) < rng.choice([0.01, 0.3, 0.9])
        row, column = np.indices(mask.shape)
        if kind == "ring":
            distance = np.hypot(row - height / 2, column - width / 2)
            mask = np.abs(distance - min(height, width) / 3) < 1
        elif kind == "corners":
            mask = ((row == 0) | (row == height - 1)) & ((column == 0) | (column == width - 1))
        elif kind == "dot":
            mask[:] = False
            mask[rng.integers(height), rng.integers(width)] = True
        elif kind == "nothing":
            mask[:] = False
        patch = Patch((slice(7, 7 + height), slice(3, 3 + width)), mask)
        raster = RegionRaster(id="a", shape=(80, 80), amodal=patch, visible=patch)
        expected = centre_of_all_pixels(raster)
        assert region_centre(raster) == (expected and pytest.approx(expected))
