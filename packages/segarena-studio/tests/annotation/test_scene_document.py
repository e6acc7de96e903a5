"""Scene documents: validation, conversion to scenes, and clipping that preserves shared vertices."""

import numpy as np
import pytest
from annotation_fixtures import box, scene, text_of

from segarena.errors import InvalidInput
from segarena.systems.scenes.checks.single_annotation_checks import check_scene
from segarena.systems.scenes.files.formats import format_losses, read_scenes, write_scenes
from segarena.systems.scenes.measures.annotation_statistics import measure_annotation
from segarena.systems.scenes.measures.drawings import drawing_of_scene
from segarena.systems.scenes.model.rasters import rasterise
from segarena.systems.scenes.model.scene import SceneSet, ring_edges
from segarena_studio.annotation.scene_document import (
    MOST_BYTES,
    document_to_scene,
    encode_document,
    read_document,
)


def read(value):
    return read_document(text_of(value))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": 2}, "version"),
        ({"points": [[0, 0], [1]]}, "length"),
        ({"points": [["1", 2]]}, "float"),
        ({"points": [[1e7, 2]]}, "<= 1000000"),
        ({"regions": [{"id": "a", "ring": [9]}]}, "refers to point 9"),
        ({"regions": [{"id": "a", "ring": [-1]}]}, ">= 0"),
        ({"regions": [{"id": "", "ring": []}]}, "length"),
        ({"regions": [{"id": "a", "ring": [], "name": "x" * 201}]}, "length"),
        ({"regions": [{"id": "a", "ring": []}, {"id": "a", "ring": []}]}, "twice"),
        (
            {"regions": [{"id": "a", "ring": [0] * 501, "starts": list(range(1, 501))}]},
            "at most 500 outlines, got 501",
        ),
        ({"regions": [{"id": "a", "ring": [0, 1, 2], "starts": [3]}]}, "begin within the ring"),
        ({"regions": [{"id": "a", "ring": [0, 1, 2], "starts": [2, 1]}]}, "begin within the ring"),
        ({"regions": [{"id": "a", "ring": [0, 1, 2], "starts": [0]}]}, "begin within the ring"),
        (
            {"regions": [{"id": str(number), "ring": []} for number in range(2001)]},
            "at most 2,000 regions .* got 2,001",
        ),
        (
            {"regions": [{"id": "a", "ring": [0] * 100_001}]},
            "with 100,000 points, got 1 with 100,001",
        ),
    ],
)
def test_what_cannot_be_a_document_is_told(change, told):
    with pytest.raises(InvalidInput, match=told):
        read({**scene(box(0, 0, 5, 5)), **change})


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"version":1e999}']
)
def test_what_is_no_json_of_this_kind_is_told(text):
    with pytest.raises(InvalidInput, match="scene"):
        read_document(text)


def test_a_document_that_is_too_large_is_not_read():
    with pytest.raises(InvalidInput, match="at most"):
        read_document(b" " * (MOST_BYTES + 1))


def test_what_else_the_editor_keeps_is_let_be():
    assert read({**scene(box(0, 0, 5, 5)), "open": [0, 1], "colours": {"r1": 3}}).open == (0, 1)


def test_two_regions_across_the_frame_share_their_border_after_the_cut():
    # The border of the two runs obliquely across the right side of the picture, in opposite directions.
    one = [[40, 10], [133.3, 17.7], [127.7, 47.1], [41.3, 40.1]]
    other = [[41.3, 40.1], [127.7, 47.1], [131, 80], [40, 70]]
    found = document_to_scene(read(scene(one, other)), name="a.png", shape=(90, 120))
    corners = np.array(found.vertices)
    assert corners[:, 1].max() == 120
    sides = [set(ring_edges(ring)) for region in found.regions for ring in region.rings]
    assert len(sides[0] & sides[1]) == 1


def test_a_region_outside_has_no_outline():
    found = document_to_scene(read(scene(box(200, 10, 220, 30))), name="a.png", shape=(90, 120))
    assert found.regions[0].rings == ()


def test_a_scene_comes_back_from_its_document():
    drawn = document_to_scene(
        read(scene(box(10, 10, 60, 60), box(60, 10, 90, 60), names=("Hund", "木"))),
        name="a",
        shape=(90, 120),
    )
    again = document_to_scene(read_document(encode_document(drawn)), name="a", shape=(90, 120))
    assert again.vertices == drawn.vertices
    assert [(region.name, region.rings) for region in again.regions] == [
        (region.name, region.rings) for region in drawn.regions
    ]


def framed_scene(*outlines, behind=None):
    """Return the scene of a region with these outlines, and of a region behind it."""
    together = [corner for outline in outlines for corner in outline]
    document = scene(together, *([behind] if behind else []))
    starts = np.cumsum([len(outline) for outline in outlines])[:-1].tolist()
    document["regions"][0]["starts"] = starts
    return document_to_scene(read(document), name="a.png", shape=(90, 120))


def extent_of(*boxes):
    """Return the pixels in an odd number of boxes (left, top, right, bottom)."""
    mask = np.zeros((90, 120), bool)
    for left, top, right, bottom in boxes:
        mask[max(top, 0) : bottom, max(left, 0) : right] ^= True
    return mask


FRAME = (box(10, 10, 80, 80), box(20, 20, 60, 60), box(30, 30, 50, 50), box(90, 10, 110, 50))
EXTENT = extent_of((10, 10, 80, 80), (20, 20, 60, 60), (30, 30, 50, 50), (90, 10, 110, 50))


def test_inside_is_what_an_odd_number_of_outlines_contain():
    found = framed_scene(*FRAME, behind=box(0, 0, 120, 90))
    rasters = rasterise(found)
    assert np.array_equal(rasters.amodal(0), EXTENT)
    assert np.array_equal(rasters.visible(1), ~EXTENT), "the region behind shows through the hole"
    assert check_scene(found) == [
        one for one in check_scene(found) if one.severity in ("note", "warning")
    ]


def test_a_region_that_shows_through_a_hole_is_not_hidden():
    # All its vertices lie in the front region, but around the hole.
    found = framed_scene(*FRAME[:2], behind=box(15, 15, 70, 70))
    assert {one.kind for one in check_scene(found)} & {"contained", "hidden"} == set()


@pytest.mark.parametrize("name", ["coco-amodal", "coco", "labelme", "rle"])
def test_exports_read_back_have_the_same_pixels(name, tmp_path):
    drawn = framed_scene(*FRAME, behind=box(0, 60, 120, 90))
    scenes = SceneSet(scenes=(drawn,))
    (path, *_) = write_scenes(scenes, tmp_path / "out.json", name)
    (again,) = read_scenes(path).scenes
    written, read_back = rasterise(drawn), rasterise(again)
    for place in (0, 1):
        assert np.array_equal(read_back.amodal(place), written.amodal(place))
        assert np.array_equal(read_back.visible(place), written.visible(place))
    assert any("holes" in loss for loss in format_losses(scenes, name))


def test_parts_without_holes_stay_polygons_in_exports(tmp_path):
    drawn = framed_scene(FRAME[0], FRAME[3])
    (path,) = write_scenes(SceneSet(scenes=(drawn,)), tmp_path / "out.json", "coco")
    (again,) = read_scenes(path).scenes
    assert len(again.regions[0].rings) == 2
    assert np.array_equal(rasterise(again).amodal(0), rasterise(drawn).amodal(0))


def test_statistics_subtract_holes():
    region = measure_annotation(drawing_of_scene(framed_scene(*FRAME))).regions[0]
    assert region.area_px == EXTENT.sum()
    assert region.points == 16
    hull_px = 70 * 70 + (110 - 80) * 40 + (110 - 80) * 30 / 2
    assert region.polygon.convexity == pytest.approx(EXTENT.sum() / hull_px, rel=0.01)


def test_outlines_that_meet_are_told_but_not_those_that_the_frame_cuts():
    crossing = framed_scene(FRAME[0], box(60, 20, 100, 40))
    assert "self-intersection" in {one.kind for one in check_scene(crossing)}
    cut = framed_scene(box(-40, -40, 80, 80), box(-20, 20, 40, 60), box(100, -10, 150, 40))
    assert "self-intersection" not in {one.kind for one in check_scene(cut)}
    expected = extent_of((0, 0, 80, 80), (0, 20, 40, 60), (100, 0, 120, 40))
    assert np.array_equal(rasterise(cut).amodal(0), expected)


def test_a_hole_behind_what_covers_it_is_told():
    outlines = [*FRAME[0], *FRAME[1]]
    document = scene(box(15, 15, 65, 65), outlines)
    document["regions"][1]["starts"] = [4]
    found = check_scene(document_to_scene(read(document), name="a.png", shape=(90, 120)))
    assert [one.regions for one in found if one.kind == "modal"] == [("r2", "r1")]
    document["regions"].reverse()
    found = check_scene(document_to_scene(read(document), name="a.png", shape=(90, 120)))
    assert "modal" not in {one.kind for one in found}


def test_holes_and_parts_come_back_from_a_document():
    drawn = framed_scene(*FRAME)
    document = read_document(encode_document(drawn))
    assert document.regions[0].starts == (4, 8, 12)
    again = document_to_scene(document, name="a.png", shape=(90, 120))
    assert np.array_equal(rasterise(again).amodal(0), EXTENT)
    assert document.corners == 16
