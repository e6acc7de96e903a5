"""Tracing of masks: outlines hold the same pixels within a pixel, and whole pixels stay exact."""

import numpy as np
import pytest

from segarena.arrays.coco_rle import Rle
from segarena.arrays.polygon_fill import Patch, fill_polygons
from segarena.errors import InvalidInput
from segarena.systems.scenes.model import polygons
from segarena.systems.scenes.model.rasters import crop_mask, rasterise
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene
from segarena_studio.annotation.prior_annotations import (
    masks_to_polygons,
    read_annotations,
    trace_mask,
)
from segarena_studio.annotation.scene_document import (
    document_to_scene,
    encode_document,
    read_document,
)


def test_a_box_is_four_corners_of_its_pixels():
    mask = np.zeros((40, 50), np.bool_)
    mask[5:25, 7:39] = True
    (outline,) = trace_mask(crop_mask(mask))
    assert sorted(map(tuple, outline.tolist())) == [(5, 7), (5, 39), (25, 7), (25, 39)]


@pytest.mark.parametrize("seed", range(5))
def test_blobs_keep_their_pixels_within_one_of_their_border(seed):
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:120, :160]
    mask = np.zeros((120, 160), np.bool_)
    for _ in range(4):
        row, column, radius = rng.integers(30, 90), rng.integers(30, 130), rng.integers(8, 28)
        mask |= (rows - row) ** 2 + (columns - column) ** 2 < radius**2
    outlines = trace_mask(crop_mask(mask))
    again = fill_polygons(outlines, mask.shape).full(mask.shape)
    wrong = mask ^ again
    around = sum(polygons.perimeter(outline) for outline in outlines)
    assert wrong.sum() < 0.5 * around
    assert abs(int(mask.sum()) - int(again.sum())) < 0.3 * around


def test_pieces_are_outlines_of_their_own_and_specks_are_left_out():
    mask = np.zeros((60, 60), np.bool_)
    mask[2:10, 2:10] = mask[20:50, 20:50] = True
    mask[55:57, 55:57] = True
    assert [polygons.area(outline) for outline in trace_mask(crop_mask(mask))] == [900, 64]
    assert trace_mask(Patch((slice(0, 0), slice(0, 0)), np.zeros((0, 0), np.bool_))) == []


def test_a_scene_of_masks_keeps_order_and_names():
    mask = np.zeros((60, 60), np.bool_)
    mask[2:32, 2:42] = True
    regions = tuple(
        Region(id=str(n), name=name, mask=Rle.of(mask)) for n, name in enumerate(("dog", "grass"))
    )
    found = masks_to_polygons(Scene(image=ImageRecord(id="1", shape=(60, 60)), regions=regions))
    assert [(region.name, region.mask, len(region.rings)) for region in found.regions] == [
        ("dog", None, 1), ("grass", None, 1),
    ]  # fmt: skip


def test_a_mask_of_several_pieces_with_a_hole_is_one_region():
    mask = np.zeros((60, 90), np.bool_)
    mask[5:45, 5:45] = mask[10:30, 60:80] = True
    mask[15:35, 15:35] = False
    image = ImageRecord(id="1", shape=(60, 90))
    scene = masks_to_polygons(Scene(image=image, regions=(Region(id="1", mask=Rle.of(mask)),)))
    document = read_document(encode_document(scene))
    assert [len(region.rings) for region in document.regions] == [3]
    again = document_to_scene(document, name="1", shape=(60, 90))
    assert np.array_equal(rasterise(again).amodal(0), mask)


@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2]", b'{"a": 3}', b"\x00\xff"])
def test_what_is_no_annotation_is_told_by_the_name_that_was_given(content):
    with pytest.raises(InvalidInput, match=r"^mine\.json: "):
        read_annotations("mine.json", content)
