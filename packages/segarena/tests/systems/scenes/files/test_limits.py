"""Small annotation files that declare large sizes are rejected with little memory, in seconds."""

import json
import time
import tracemalloc

import pytest

from segarena.arrays.coco_rle import Rle
from segarena.errors import InvalidMask
from segarena.systems.scenes.files import read_scenes
from segarena.systems.scenes.model.rasters import rasterise

SIDE = 9400


def coco(path, side, segmentations):
    annotations = [
        {"id": number, "image_id": 1, "category_id": 1, "segmentation": one}
        for number, one in enumerate(segmentations, 1)
    ]
    images = [{"id": 1, "width": side, "height": side, "file_name": "a.png"}]
    path.write_text(
        json.dumps(
            {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "x"}]}
        )
    )
    return path


def whole(side):
    return [[0, 0, side, 0, side, side, 0, side]]


def full(side):
    return {"size": [side, side], "counts": Rle.of_lengths([0, side * side], (side, side)).counts}


def test_an_image_that_claims_too_many_pixels_is_left_out(tmp_path):
    path = coco(tmp_path / "a.json", 1 << 16, [whole(1 << 16)])
    assert path.stat().st_size < 575
    found = read_scenes(path)
    assert not found.scenes
    assert (
        "expected at most 89,478,485 pixels, but the header claims 4,294,967,296"
        in found.defects[0].message
    )


@pytest.mark.long
@pytest.mark.parametrize("drawn", [whole, full])
def test_the_masks_of_one_image_may_not_take_more_than_two_pictures(tmp_path, drawn):
    (scene,) = read_scenes(coco(tmp_path / "a.json", SIDE, [drawn(SIDE)] * 300)).scenes
    tracemalloc.start()
    begun = time.monotonic()
    with pytest.raises(InvalidMask, match="its masks: expected at most 178,956,970 pixels"):
        rasterise(scene)
    assert time.monotonic() - begun < 120
    assert tracemalloc.get_traced_memory()[1] < 2**30
    tracemalloc.stop()


def test_many_small_masks_of_a_large_image_cost_what_they_show(tmp_path):
    dot = Rle.of_lengths([SIDE * 100 + 7, 3, SIDE * SIDE - SIDE * 100 - 10], (SIDE, SIDE)).counts
    (scene,) = read_scenes(
        coco(tmp_path / "a.json", SIDE, [{"size": [SIDE, SIDE], "counts": dot}] * 300)
    ).scenes
    found = rasterise(scene).regions[0].amodal
    assert found.window == (slice(7, 10), slice(100, 101))
    assert found.mask.all()


def test_cvat_masks_that_fill_a_large_image_many_times_are_left_out(tmp_path):
    mask = (
        f'<mask label="a" rle="0, {SIDE * SIDE}" left="0" top="0" width="{SIDE}" height="{SIDE}"/>'
    )
    (tmp_path / "a.xml").write_text(
        f'<annotations><image id="0" name="a.png" width="{SIDE}" height="{SIDE}">{mask * 4}</image></annotations>'
    )
    found = read_scenes(tmp_path / "a.xml")
    assert len(found.scenes[0].regions) == 2
    assert len(found.defects) == 2
