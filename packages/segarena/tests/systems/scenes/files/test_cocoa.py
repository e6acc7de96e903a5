import json

import numpy as np
import pytest
from PIL import Image

from segarena.arrays.coco_rle import Rle
from segarena.errors import SegarenaError
from segarena.systems.scenes.files import read_scenes
from segarena.systems.scenes.files.cocoa import read_cocoa, write_cocoa

SQUARE = [10, 10, 10, 50, 50, 50, 50, 10]


def region(order, **keys):
    return {
        "segmentation": SQUARE,
        "name": "cat",
        "order": order,
        "isStuff": 0,
        "area": 1600,
        "occlude_rate": 0,
    } | keys


def document(*regions, **keys):
    image = {
        "id": 7,
        "file_name": "7.jpg",
        "width": 80,
        "height": 60,
        "date_captured": "2013",
        "flickr_url": "",
    }
    annotation = {
        "id": 3, "image_id": 7, "category_id": 1, "author": "ann", "url": "u", "size": len(regions),
        "depth_constraint": "", "regions": list(regions), "novel": {"kept": [1]},
    }  # fmt: skip
    return {
        "info": {"year": 2016},
        "licenses": [],
        "images": [image],
        "annotations": [annotation | keys],
        "extra": 1,
    }


def read(value, path):
    path.write_text(json.dumps(value), encoding="utf-8")
    return read_cocoa(path)


def test_every_field_is_read_and_written_back(tmp_path):
    seen = np.zeros((60, 80), dtype=bool)
    seen[10:50, 10:30] = True
    mask = {"size": [60, 80], "counts": Rle.of(seen).counts}
    value = document(
        region(1, novel="kept"),
        region(
            2, isStuff=1, occlude_rate=0.5, visible_mask=mask, invisible_mask=mask, name=" çat 猫 "
        ),
        depth_constraint="1-2",
    )
    scenes = read(value, tmp_path / "a.json")
    (scene,) = scenes.scenes
    assert scenes.defects == ()
    assert scenes.attributes == {"info": {"year": 2016}, "licenses": [], "extra": 1}
    assert scene.image.attributes == {"date_captured": "2013", "flickr_url": ""}
    assert (scene.shape, scene.annotator, scene.stated_pairs) == ((60, 80), "ann", (("1", "2"),))
    assert scene.attributes == {"id": 3, "category_id": 1, "url": "u", "novel": {"kept": [1]}}
    first, second = scene.regions
    assert first.attributes == {"novel": "kept"}
    assert (first.is_stuff, second.is_stuff, second.name) == (False, True, " çat 猫 ")
    assert second.visible_mask == Rle.of(seen)
    assert (second.stated_area_px, second.stated_occlusion) == (1600, 0.5)
    assert scene.polygons(first)[0].tolist() == [[10, 10], [50, 10], [50, 50], [10, 50]]
    write_cocoa(scenes, tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text()) == value


def test_missing_keys_are_borne(tmp_path):
    value = {
        "images": [{"id": 7, "width": 80, "height": 60}],
        "annotations": [{"image_id": 7, "regions": [{"segmentation": SQUARE}]}, {"image_id": 7}],
    }
    scenes = read(value, tmp_path / "a.json")
    assert [len(scene.regions) for scene in scenes.scenes] == [1, 0]
    assert [defect.kind for defect in scenes.defects] == ["order"]
    (only,) = scenes.scenes[0].regions
    assert (only.name, only.is_stuff, only.stated_occlusion) == ("", None, None)


def test_an_annotation_without_the_records_around_it_has_the_size_of_its_masks_or_photograph(
    tmp_path,
):
    whole = document(
        region(1, visible_mask={"size": [60, 80], "counts": Rle.of(np.ones((60, 80), bool)).counts})
    )
    single = whole["annotations"][0] | {"url": "http://a.example/photos/7.jpg?x=1"}
    (tmp_path / "a.json").write_text(json.dumps(single))
    (scene,) = read_scenes(tmp_path / "a.json").scenes
    assert (scene.image.id, scene.image.file_name, scene.shape, scene.annotator) == (
        "7",
        "7.jpg",
        (60, 80),
        "ann",
    )
    assert scene.regions == read(whole, tmp_path / "b.json").scenes[0].regions
    del single["regions"][0]["visible_mask"]
    (tmp_path / "a.json").write_text(json.dumps(single))
    with pytest.raises(SegarenaError, match=r"7\.jpg"):
        read_scenes(tmp_path / "a.json")
    (tmp_path / "photographs").mkdir()
    Image.new("RGB", (80, 60)).save(tmp_path / "photographs" / "7.jpg")
    (scene,) = read_scenes(tmp_path / "a.json", images=tmp_path / "photographs").scenes
    assert scene.shape == (60, 80)


def test_a_list_of_annotations_alone_is_read_as_the_file_that_holds_them(tmp_path):
    masked = region(
        1, visible_mask={"size": [60, 80], "counts": Rle.of(np.ones((60, 80), bool)).counts}
    )
    whole = document(masked)
    (one,) = whole["annotations"]
    (tmp_path / "a.json").write_text(json.dumps([one, one | {"author": "kim"}]))
    scenes = read_scenes(tmp_path / "a.json")
    assert scenes.defects == ()
    assert [(scene.image.id, scene.annotator) for scene in scenes.scenes] == [
        ("7", "ann"),
        ("7", "kim"),
    ]
    assert scenes.scenes[0].regions == read(whole, tmp_path / "b.json").scenes[0].regions


def test_regions_lie_in_the_order_that_is_stated_not_listed(tmp_path):
    scenes = read(
        document(region(2, name="b"), region(3, name="c"), region(1, name="a")), tmp_path / "a.json"
    )
    assert [(r.id, r.name) for r in scenes.scenes[0].regions] == [
        ("1", "a"),
        ("2", "b"),
        ("3", "c"),
    ]


@pytest.mark.parametrize("orders", [(1, 1, 2), (1, 2, None), (0, 1, 2), ("x", 1, 2), (1, 2, 4)])
def test_orders_that_are_not_1_to_n_are_told_and_the_regions_kept(orders, tmp_path):
    scenes = read(document(*(region(order) for order in orders)), tmp_path / "a.json")
    assert len(scenes.scenes[0].regions) == 3
    (defect,) = scenes.defects
    assert (defect.kind, defect.image, defect.annotator) == ("order", "7", "ann")


def test_several_polygons_and_masks_as_segmentation(tmp_path):
    mask = {"size": [60, 80], "counts": [100, 50, 60 * 80 - 150]}
    scenes = read(
        document(region(1, segmentation=[SQUARE, SQUARE]), region(2, segmentation=mask)),
        tmp_path / "a.json",
    )
    two, as_mask = scenes.scenes[0].regions
    assert len(two.rings) == 2
    assert as_mask.mask.area_px == 50
    write_cocoa(scenes, tmp_path / "b.json")
    assert read_cocoa(tmp_path / "b.json") == scenes


@pytest.mark.parametrize(
    ("keys", "kind", "said"),
    [
        ({"segmentation": [1, 2, 3]}, "polygon", "even number"),
        ({"segmentation": [1, 2, "x", 4, 5, 6]}, "polygon", "expected numbers"),
        ({"segmentation": [1, 2, None, 4]}, "polygon", "polygon: expected"),
        ({"segmentation": [1e999, 2, 3, 4]}, "polygon", "finite"),
        ({"segmentation": "text"}, "polygon", "found none"),
        ({"visible_mask": {"size": [60, 80], "counts": [5, 5]}}, "mask", "got a different number"),
        ({"visible_mask": {"size": [80, 60], "counts": [4800]}}, "mask", "image's size 60 x 80"),
        ({"invisible_mask": {"size": [60, 80], "counts": "!!"}}, "mask", "run lengths"),
        ({"invisible_mask": {"counts": "!!"}}, "mask", "run lengths"),
        ({"invisible_mask": 5}, "mask", "run lengths"),
        ({"visible_mask": {"size": [60, 80], "counts": [4800, -5, 5]}}, "mask", "run lengths"),
    ],
)
def test_what_is_damaged_is_told_with_image_and_region_and_the_rest_is_read(
    keys, kind, said, tmp_path
):
    scenes = read(document(region(1), region(2, **keys)), tmp_path / "a.json")
    (defect,) = scenes.defects
    assert (defect.kind, defect.image, defect.annotator, defect.regions) == (
        kind,
        "7",
        "ann",
        ("2",),
    )
    assert said in defect.message
    assert len(scenes.scenes[0].regions) == 2


def test_annotations_of_unknown_images_are_left_out_and_told(tmp_path):
    scenes = read(document(region(1), image_id=8), tmp_path / "a.json")
    assert scenes.scenes == ()
    assert str(scenes.defects[0]).startswith(
        "error: image 8, annotator ann: expected the record of this image"
    )


@pytest.mark.parametrize(
    "size", [{"width": 0}, {"height": -5}, {"width": "x"}, {"width": 1 << 40}, {"height": None}]
)
def test_images_of_impossible_size_are_told(size, tmp_path):
    value = document(region(1))
    value["images"][0] |= size
    assert read(value, tmp_path / "a.json").defects[0].kind == "image-size"


def test_depth_constraints_that_make_no_sense_are_told(tmp_path):
    scenes = read(document(region(1), region(2), depth_constraint="1-2,2-9,x"), tmp_path / "a.json")
    assert scenes.scenes[0].stated_pairs == (("1", "2"),)
    assert scenes.defects[0].kind == "pairs"


def test_names_that_are_not_utf_8_are_told_and_replaced(tmp_path):
    text = json.dumps(document(region(1, name="caf@"))).encode().replace(b"@", b"\xe9")
    (tmp_path / "a.json").write_bytes(text)
    scenes = read_cocoa(tmp_path / "a.json")
    assert scenes.defects[0].kind == "encoding"
    assert scenes.scenes[0].regions[0].name == "caf\ufffd"
    (tmp_path / "a.json").write_bytes(
        json.dumps(document(region(1, name="é")), ensure_ascii=False).encode("utf-16")
    )
    assert read_cocoa(tmp_path / "a.json").scenes[0].regions[0].name == "é"
    (tmp_path / "a.json").write_text(json.dumps(document(region(1, name="\ud800"))))
    assert read_cocoa(tmp_path / "a.json").scenes[0].regions[0].name == "?"


def test_what_is_derived_states_what_follows_from_its_own_order(tmp_path):
    scenes = read(
        document(region(1), region(2, segmentation=[20, 20, 20, 40, 70, 40, 70, 20])),
        tmp_path / "a.json",
    )
    scene = scenes.scenes[0].moved("2", 0)
    write_cocoa(type(scenes)(scenes=(scene,)), tmp_path / "b.json")
    front, behind = json.loads((tmp_path / "b.json").read_text())["annotations"][0]["regions"]
    assert (front["order"], front["area"], front["occlude_rate"]) == (1, 1000, 0)
    assert "visible_mask" not in front
    assert (behind["order"], behind["area"], behind["occlude_rate"]) == (2, 1600, 600 / 1600)
    assert Rle((60, 80), behind["invisible_mask"]["counts"]).area_px == 600
