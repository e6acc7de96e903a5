"""Files of other programs: COCO variants, labelme, CVAT, .ann."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image

from segarena.arrays.coco_rle import Rle
from segarena.datasets.cvat import Cvat
from segarena.errors import DatasetError, InvalidInput
from segarena.systems.scenes.files import format_losses, read_scenes, write_scenes
from segarena.systems.scenes.model.rasters import rasterise
from segarena.systems.scenes.model.scene import ImageRecord, Region, SceneSet, make_scene

IMAGES = [{"id": 7, "file_name": "a/7.jpg", "width": 80, "height": 60}]


def mask(top, left, bottom, right):
    whole = np.zeros((60, 80), dtype=bool)
    whole[top:bottom, left:right] = True
    return whole


def rle(*box):
    return {"size": [60, 80], "counts": Rle.of(mask(*box)).counts}


def xy(top, left, bottom, right):
    return [left, top, right, top, right, bottom, left, bottom]


VARIANTS = {
    "D2SA, COCOA-cls": {
        "segmentation": rle(0, 0, 40, 40), "visible_mask": rle(0, 0, 40, 20), "invisible_mask": rle(0, 20, 40, 40),
        "occlude_rate": 0.5, "area": 1600, "bbox": [0, 0, 40, 40],
    },
    "KINS": {
        "a_segm": [xy(0, 0, 40, 40)], "i_segm": [xy(0, 0, 40, 20)], "a_area": 1600, "i_area": 800, "oco_id": 1,
        "segmentation": [xy(0, 0, 40, 20)],
    },
    "KINS, later": {"segmentation": [xy(0, 0, 40, 40)], "inmodal_seg": rle(0, 0, 40, 20), "inmodal_bbox": [0] * 4},
    "UOAIS": {"segmentation": rle(0, 0, 40, 40), "visible_mask": rle(0, 0, 40, 20), "occluded_rate": 0.5},
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_of_coco_state_the_full_and_the_visible_part(name, tmp_path):
    record = {"id": 1, "image_id": 7, "category_id": 3, "iscrowd": 0} | VARIANTS[name]
    value = {"images": IMAGES, "annotations": [record], "categories": [{"id": 3, "name": "car"}]}
    (tmp_path / "a.json").write_text(json.dumps(value))
    scenes = read_scenes(tmp_path / "a.json")
    (scene,) = scenes.scenes
    assert scenes.defects == ()
    assert not scene.has_depth
    assert scene.regions[0].name == "car"
    rasters = rasterise(scene)
    np.testing.assert_array_equal(rasters.amodal(0), mask(0, 0, 40, 40))
    np.testing.assert_array_equal(rasters.visible(0), mask(0, 0, 40, 20))


def test_plain_coco_is_read_and_images_without_objects_are_empty_scenes(tmp_path):
    box = {"image_id": 7, "category_id": 9, "segmentation": [xy(0, 0, 5, 5), xy(10, 10, 15, 15)]}
    wrong = {"id": 2, "image_id": 7, "category_id": 9, "segmentation": []}
    images = [*IMAGES, {"id": 8, "width": 5, "height": 5}]
    (tmp_path / "a.json").write_text(
        json.dumps({"images": images, "annotations": [box, wrong, {"image_id": 9}]})
    )
    scenes = read_scenes(tmp_path / "a.json")
    assert [len(scene.regions) for scene in scenes.scenes] == [1, 0]
    assert scenes.scenes[0].regions[0].name == "9"
    assert rasterise(scenes.scenes[0]).regions[0].area_px == 50
    assert {(defect.kind, defect.image) for defect in scenes.defects} == {
        ("object", "7"),
        ("image-missing", "9"),
    }


def test_labelme_is_read_last_shape_in_front(tmp_path):
    def shape(label, points, kind="polygon"):
        return {"label": label, "points": points, "shape_type": kind, "group_id": None, "flags": {}}

    value = {
        "version": "5.4.1", "flags": {}, "imagePath": "..\\photos\\a.jpg", "imageData": None, "imageHeight": 60,
        "imageWidth": 80,
        "shapes": [
            shape("wall", [[0, 0], [80, 0], [80, 60], [0, 60]]),
            shape("eye", [[5, 5], [9, 9]], "circle"),
            shape("door", [[50, 40], [10, 10]], "rectangle"),
        ],
    }  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(value))
    scenes = read_scenes(tmp_path / "a.json")
    (scene,) = scenes.scenes
    assert (scene.image.id, scene.image.file_name) == ("a", "a.jpg")
    assert [region.name for region in scene.regions] == ["door", "wall"]
    np.testing.assert_array_equal(rasterise(scene).visible(0), mask(10, 10, 40, 50))
    assert "got 'circle'" in scenes.defects[0].message


CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version><meta><task><name>x</name></task></meta>
<image id="0" name="b/a.jpg" width="80" height="60">
  <polygon label="wall" source="manual" occluded="0" points="0.0,0.0;80,0;80,60;0,60" z_order="0"></polygon>
  <box label="door" xtl="10" ytl="10" xbr="50" ybr="40" z_order="2"><attribute name="colour">red</attribute></box>
  <mask label="cat" rle="2, 2, 2" left="60" top="20" width="3" height="2" z_order="1"/>
  <polyline label="line" points="1,1;2,2" z_order="5"/>
  <mask label="bad" rle="9" left="60" top="20" width="3" height="2" z_order="1"/>
  <polygon label="bad" points="1;2,3" z_order="1"/>
</image>
<image id="1" name="" width="80" height="x"/>
</annotations>"""


def test_cvat_is_read_higher_z_order_in_front(tmp_path):
    (tmp_path / "a.xml").write_text(CVAT)
    scenes = read_scenes(tmp_path / "a.xml")
    (scene,) = scenes.scenes
    assert (scene.image.id, scene.image.file_name) == ("b/a", "b/a.jpg")
    assert [region.name for region in scene.regions] == ["door", "cat", "wall"]
    assert scene.regions[0].attributes == {"colour": "red"}
    cat = np.zeros((60, 80), dtype=bool)
    cat[[20, 21], [62, 60]] = True
    np.testing.assert_array_equal(rasterise(scene).amodal(1), cat)
    assert [defect.kind for defect in scenes.defects] == [
        "polygon",
        "polygon",
        "polygon",
        "image-size",
    ]


def test_scenes_and_the_dataset_read_a_rotated_box_of_cvat_alike(tmp_path):
    shape = '<box label="box" xtl="10" ytl="20" xbr="50" ybr="30" rotation="90.0"/>'
    text = f'<annotations><image id="0" name="a.png" width="80" height="60">{shape}</image></annotations>'
    (tmp_path / "a.xml").write_text(text)
    Image.new("RGB", (80, 60)).save(tmp_path / "a.png")
    (scene,) = read_scenes(tmp_path / "a.xml").scenes
    (target,) = Cvat(path=str(tmp_path)).load("a").targets
    np.testing.assert_array_equal(rasterise(scene).amodal(0), target.mask)
    assert target.mask[5:45, 25:35].all()
    assert scene.regions[0].attributes == {}


BOMB = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]><annotations>&c;</annotations>'


@pytest.mark.parametrize(
    ("text", "said"),
    [(BOMB, "without a document type"), ("<a/>", "got XML with <a>"), ("<a>", "XML"), ("", "XML")],
)
def test_xml_that_is_not_ours_is_refused_and_entities_are_never_expanded(text, said, tmp_path):
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(DatasetError, match=said):
        read_scenes(tmp_path / "a.xml")


def test_ann_exports_are_scaled_by_the_photograph(tmp_path):
    Image.fromarray(np.zeros((60, 80, 3), np.uint8)).save(tmp_path / "a.png")
    value = {
        "url": "http://host/static/a.png?v=1",
        "polygons_str": json.dumps([[0.5, 0.5, 1, 0.5, 1, 1, 0.5, 1], [0, 0, 1]]),
        "namelist": '["cat"]', "activetime": 12.5, "ann_time": 60, "depth_str": "", "created_dt": "2016-01-01",
    }  # fmt: skip
    (tmp_path / "a_kim.ann").write_text(json.dumps(value))
    scenes = read_scenes(tmp_path / "a_kim.ann")
    (scene,) = scenes.scenes
    assert (scene.image.id, scene.annotator) == ("a", "kim")
    assert scene.attributes == {"activetime": 12.5, "ann_time": 60, "created_dt": "2016-01-01"}
    np.testing.assert_array_equal(rasterise(scene).amodal(0), mask(30, 40, 60, 80))
    assert [defect.kind for defect in scenes.defects] == ["names", "polygon"]
    (tmp_path / "a.png").unlink()
    with pytest.raises(InvalidInput, match=r"a\.png: expected an image file"):
        read_scenes(tmp_path / "a_kim.ann")


def test_what_labelme_and_cvat_hold_is_written_as_coco_amodal_and_read_again(tmp_path):
    (tmp_path / "a.xml").write_text(CVAT)
    scenes = read_scenes(tmp_path / "a.xml")
    assert "regions not marked as stuff or thing: they are written as things" in format_losses(
        scenes, "coco-amodal"
    )
    write_scenes(scenes, tmp_path / "b.json", "coco-amodal")
    again = read_scenes(tmp_path / "b.json")
    assert again.defects == ()
    assert [r.name for r in again.scenes[0].regions] == ["door", "cat", "wall"]
    np.testing.assert_array_equal(
        rasterise(again.scenes[0]).owner, rasterise(scenes.scenes[0]).owner
    )


def test_labelme_joins_the_shapes_of_a_group_and_leaves_out_what_is_ignored(tmp_path):
    def shape(label, left, group=None):
        points = [[left, 0], [left + 4, 0], [left + 4, 4], [left, 4]]
        return {"label": label, "points": points, "shape_type": "polygon", "group_id": group}

    shapes = [
        shape("cat", 0, 7),
        shape("cat", 5, 7),
        shape("cat", 10),
        shape("__ignore__", 15),
        shape("dog", 20, 7),
    ]
    value = {"imagePath": "a.jpg", "imageHeight": 10, "imageWidth": 30, "shapes": shapes}
    (tmp_path / "a.json").write_text(json.dumps(value))
    (scene,) = read_scenes(tmp_path / "a.json").scenes
    assert [(region.name, len(region.rings)) for region in scene.regions] == [
        ("dog", 1),
        ("cat", 1),
        ("cat", 2),
    ]


def test_labelme_is_written_with_the_front_shape_last_and_read_as_the_same(tmp_path, demo_set):
    files = write_scenes(demo_set, tmp_path / "out", "labelme")
    assert [file.name for file in files][:2] == ["scene-1.exact.json", "scene-1.confused.json"]
    value = json.loads(files[0].read_text())
    scene = demo_set.scenes[0]
    assert [shape["label"] for shape in value["shapes"]] == [
        region.name for region in reversed(scene.regions)
    ]
    column, row = value["shapes"][-1]["points"][0]
    assert (row, column) == tuple(scene.polygons(scene.regions[0])[0][0])
    for file, scene in zip(files, demo_set.scenes, strict=True):
        (back,) = read_scenes(file).scenes
        np.testing.assert_array_equal(rasterise(back).owner, rasterise(scene).owner)
    assert "who drew it" in format_losses(demo_set, "labelme")


def png(values):
    data = io.BytesIO()
    Image.fromarray(values).save(data, format="PNG")
    return base64.b64encode(data.getvalue()).decode()


def test_masks_of_labelme_are_read_at_their_box_and_joined_with_their_group(tmp_path):
    cat = np.array([[1, 0, 1], [1, 1, 1]], np.uint8)
    shapes = [
        {
            "label": "cat",
            "shape_type": "mask",
            "points": [[10, 20], [12, 21]],
            "mask": png(cat),
            "group_id": 3,
        },
        {"label": "cat", "shape_type": "rectangle", "points": [[0, 0], [2, 2]], "group_id": 3},
        {"label": "out", "shape_type": "mask", "points": [[78, 0], [80, 1]], "mask": png(cat)},
        {"label": "bad", "shape_type": "mask", "points": [[0, 0], [2, 1]], "mask": "no base64!"},
        {
            "label": "bad",
            "shape_type": "mask",
            "points": [[0, 0], [2, 1]],
            "mask": base64.b64encode(b"x").decode(),
        },
    ]
    value = {"imagePath": "a.jpg", "imageHeight": 60, "imageWidth": 80, "shapes": shapes}
    (tmp_path / "a.json").write_text(json.dumps(value))
    scenes = read_scenes(tmp_path / "a.json")
    (region,) = scenes.scenes[0].regions
    expected = mask(0, 0, 2, 2)
    expected[20:22, 10:13] = cat
    np.testing.assert_array_equal(region.mask.decode(), expected)
    assert region.name == "cat"
    told = " ".join(defect.message for defect in scenes.defects)
    assert len(scenes.defects) == 3
    assert "inside the image, got 3 x 2 at column 78, row 0" in told
    assert "expected base64" in told
    assert "expected a readable image file" in told


def test_visible_masks_without_an_order_go_through_labelme(tmp_path):
    records = [
        {
            "image_id": 7,
            "category_id": 1,
            "segmentation": rle(0, 0, 30, 30),
            "visible_mask": rle(0, 0, 30, 10),
        },
        {"image_id": 7, "category_id": 1, "segmentation": rle(0, 5, 20, 40)},
    ]
    value = {"images": IMAGES, "categories": [{"id": 1, "name": "apple"}], "annotations": records}
    (tmp_path / "d2sa.json").write_text(json.dumps(value))
    scenes = read_scenes(tmp_path / "d2sa.json")
    assert format_losses(scenes, "labelme") == []
    (file,) = write_scenes(scenes, tmp_path / "out", "labelme")
    assert [shape["shape_type"] for shape in json.loads(file.read_text())["shapes"]] == [
        "mask",
        "mask",
    ]
    before, after = scenes.scenes[0], read_scenes(file).scenes[0]
    assert (after.has_depth, [region.name for region in after.regions]) == (
        False,
        ["apple", "apple"],
    )
    for place in range(2):
        np.testing.assert_array_equal(
            rasterise(after).visible(place), rasterise(before).visible(place)
        )
        np.testing.assert_array_equal(
            after.regions[place].mask.decode(), before.regions[place].mask.decode()
        )


def test_parts_of_a_region_are_a_group_of_labelme(tmp_path):
    parts = [[(0, 0), (0, 9), (9, 9)], [(20, 20), (20, 29), (29, 29)]]
    image = ImageRecord(id="a", shape=(60, 80))
    scene = make_scene(
        image, [(Region(id="1", name="cat"), parts), (Region(id="2", name="cat"), parts[:1])]
    )
    (file,) = write_scenes(SceneSet(scenes=(scene,)), tmp_path, "labelme")
    (back,) = read_scenes(file).scenes
    assert [len(region.rings) for region in back.regions] == [2, 1]


def test_cvat_keeps_equal_names_of_subsets_apart_and_refuses_videos(tmp_path):
    image = '<image id="{0}" name="a.jpg" subset="{1}" width="9" height="9"/>'
    (tmp_path / "a.xml").write_text(
        f"<annotations>{image.format(0, 'train')}{image.format(1, 'val')}</annotations>"
    )
    assert list(read_scenes(tmp_path / "a.xml").by_image()) == ["train/a", "val/a"]
    (tmp_path / "b.xml").write_text('<annotations><track id="0" label="car"/></annotations>')
    with pytest.raises(DatasetError, match="CVAT for video"):
        read_scenes(tmp_path / "b.xml")
