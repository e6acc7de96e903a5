"""`coco`, `cvat`, `labelme` and `label-studio`: the same scene in the files of each tool, and their errors."""

from __future__ import annotations

import base64
import io
import json
import pickle
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import segarena
from segarena.arrays.coco_rle import Rle
from segarena.datasets.coco import Coco
from segarena.datasets.cvat import Cvat
from segarena.datasets.folder_detection import detect_dataset
from segarena.datasets.label_studio import LabelStudio
from segarena.datasets.labelme import Labelme
from segarena.errors import DatasetError, DatasetMissing, SampleInvalid
from segarena.files.images import read_image
from segarena.registry import build
from segarena.roles import Benchmark

HEIGHT, WIDTH = 40, 60
NAME = "straße/grün 1.jpg"
SAMPLE = "straße/grün 1"
ORIENTATION = 0x0112
FORMATS = {"coco": Coco, "cvat": Cvat, "labelme": Labelme, "label-studio": LabelStudio}


def block(top, left, bottom, right):
    mask = np.zeros((HEIGHT, WIDTH), dtype=bool)
    mask[top:bottom, left:right] = True
    return mask


CAR = block(5, 10, 20, 30)
TREE = block(2, 40, 30, 55)
TREE[4:8, 44:50] = False
EXPECTED = {"car": CAR, "Bäume": TREE}


def photograph(path, seed=0, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path, **options)


def corners(top, left, bottom, right):
    return [[left, top], [right, top], [right, bottom], [left, bottom]]


def row_major(mask):
    """Return run lengths row by row, beginning with the background."""
    runs = [0]
    before = False
    for pixel in mask.ravel().tolist():
        if pixel != before:
            runs.append(0)
        runs[-1] += 1
        before = pixel
    return runs


def brush(mask):
    """Return a brush of Label Studio, with one run of equal values per pixel."""
    bits = f"{mask.size * 4:032b}" + f"{7:05b}" + f"{1:04b}" * 4
    for pixel in mask.ravel().tolist():
        bits += "1" + "00" + "11" + f"{255 if pixel else 0:08b}"
    bits += "0" * (-len(bits) % 8)
    return [int(bits[start : start + 8], 2) for start in range(0, len(bits), 8)]


def coco_value(name=NAME, **image):
    size = {"height": HEIGHT, "width": WIDTH}
    polygon = [np.ravel(corners(5, 10, 20, 30)).tolist()]
    return {
        "images": [{"id": 7, "file_name": name, **size, **image}],
        "categories": [{"id": 3, "name": "car"}, {"id": 9, "name": "Bäume"}],
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 3, "iscrowd": 0, "segmentation": polygon},
            {
                "id": 2,
                "image_id": 7,
                "category_id": 9,
                "iscrowd": 0,
                "segmentation": {"size": [HEIGHT, WIDTH], "counts": Rle.of(TREE).counts},
            },
        ],
    }


def cvat_text(name=NAME, width=WIDTH, height=HEIGHT):
    rows, columns = slice(2, 30), slice(40, 55)
    runs = ", ".join(map(str, row_major(TREE[rows, columns])))
    points = ";".join(f"{x}.00,{y}.00" for x, y in corners(5, 10, 20, 30))
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<annotations><version>1.1</version>'
        f'<image id="0" name="{name}" width="{width}" height="{height}">'
        f'<polygon label="car" source="manual" occluded="0" points="{points}" z_order="0"></polygon>'
        f'<mask label="Bäume" rle="{runs}" left="40" top="2" width="15" height="28" z_order="1"></mask>'
        "</image></annotations>"
    )


def labelme_value(name=NAME, height=HEIGHT, width=WIDTH):
    buffer = io.BytesIO()
    Image.fromarray(TREE[2:30, 40:55].astype(np.uint8) * 255).save(buffer, format="PNG")
    return {
        "version": "5.5.0",
        "flags": {},
        "shapes": [
            {"label": "car", "points": corners(5, 10, 20, 30), "group_id": None, "shape_type": "polygon"},
            {
                "label": "Bäume",
                "points": [[40, 2], [54, 29]],
                "group_id": None,
                "shape_type": "mask",
                "mask": base64.b64encode(buffer.getvalue()).decode(),
            },
        ],
        "imagePath": name.rpartition("/")[2],
        "imageData": None,
        "imageHeight": height,
        "imageWidth": width,
    }  # fmt: skip


def region(region_id, kind, label, **value):
    return {
        "id": region_id,
        "type": kind,
        "from_name": "label",
        "to_name": "image",
        "original_width": WIDTH,
        "original_height": HEIGHT,
        "image_rotation": 0,
        "value": {kind: [label], **value},
    }


def percent(pairs):
    return [[100 * x / WIDTH, 100 * y / HEIGHT] for x, y in pairs]


def data_url(pixels):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def task(name, results):
    return {
        "id": 1,
        "data": {"image": name},
        "annotations": [{"id": 4, "was_cancelled": False, "result": results}],
    }


def label_studio_value(name="/data/upload/1/0a1b2c3d-gr%C3%BCn%201.jpg"):
    polygon = region("p1", "polygonlabels", "car", points=percent(corners(5, 10, 20, 30)))
    painted = region("b1", "brushlabels", "Bäume", format="rle", rle=brush(TREE))
    return [task(name, [polygon, painted])]


def write(root, kind, value=None):
    """Write the scene in the file of a tool."""
    if kind == "cvat":
        (root / "annotations.xml").write_text(value or cvat_text(), encoding="utf-8")
        return
    values = {"coco": coco_value, "labelme": labelme_value, "label-studio": label_studio_value}
    file = root / "instances.json"
    if kind == "labelme":
        file = (root / NAME).with_suffix(".json")
        file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value or values[kind](), ensure_ascii=False)
    file.write_text(text, encoding="utf-8")


@pytest.fixture(params=FORMATS)
def kind(request):
    return request.param


@pytest.fixture
def root(tmp_path):
    photograph(tmp_path / NAME)
    return tmp_path


def masks_of(sample):
    return {target.label: target.mask for target in sample.targets}


def assert_scene(sample):
    masks = masks_of(sample)
    assert set(masks) == set(EXPECTED)
    for label, expected in EXPECTED.items():
        np.testing.assert_array_equal(masks[label], expected)


def said(found):
    return "\n".join(finding.message for finding in found.check())


def test_every_tool_gives_the_same_targets(root, kind):
    write(root, kind)
    found = FORMATS[kind](path=str(root))
    assert found.sample_ids == (SAMPLE,)
    sample = found.load(SAMPLE)
    assert_scene(sample)
    assert [target.attributes["size"] for target in sample.targets] == ["large", "large"]
    (last,) = found.check()
    assert "2 targets (2 large) in 1 readable photograph" in last.message


def test_a_folder_is_recognized_by_its_files(root, kind):
    write(root, kind)
    detected = detect_dataset(root)
    assert detected.spec.reference == kind
    assert_scene(build("dataset", detected.spec).load(SAMPLE))
    run = segarena.evaluate(
        Benchmark(name="b", users=("centre",), metrics=("iou",), rounds=1, summary=()),
        segmenter="everything",
        dataset=str(root),
        out=root.parent / f"{root.name} run",
        workers=0,
    )
    assert run.config.dataset.name == kind
    assert run.config.counts.targets == 2


def test_folders_and_unicode_forms_of_names_may_differ(tmp_path, kind):
    photograph(tmp_path / "images" / "more" / unicodedata.normalize("NFD", NAME))
    write(tmp_path, kind)
    found = FORMATS[kind](path=str(tmp_path))
    assert_scene(found.load(found.sample_ids[0]))
    photograph(tmp_path / "thumbnails" / "grün 1.jpg", 1)
    found = FORMATS[kind](path=str(tmp_path), images="images")
    assert_scene(found.load(found.sample_ids[0]))


def test_selected_labels_and_areas(root, kind):
    write(root, kind)
    (target,) = FORMATS[kind](path=str(root), labels=["car"]).load(SAMPLE).targets
    assert target.label == "car"
    (target,) = FORMATS[kind](path=str(root), min_area_px=350).load(SAMPLE).targets
    assert target.label == "Bäume"
    assert "1 of 2 objects have fewer than 350 pixels" in said(
        FORMATS[kind](path=str(root), min_area_px=350)
    )
    assert "expected categories of the annotations (Bäume, car), got cat" in said(
        FORMATS[kind](path=str(root), labels=["cat", "car"])
    )


def test_a_change_of_the_annotations_changes_the_fingerprint(root, kind):
    write(root, kind)
    before = FORMATS[kind](path=str(root)).fingerprint
    assert FORMATS[kind](path=str(root)).fingerprint == before
    file = next(iter([*root.rglob("*.json"), *root.rglob("*.xml")]))
    file.write_text(file.read_text(encoding="utf-8").replace("car", "cat"), encoding="utf-8")
    assert FORMATS[kind](path=str(root)).fingerprint != before


def test_an_image_that_is_not_there_is_one_bad_sample(root):
    value = coco_value()
    value["images"].append({"id": 8, "file_name": "../../etc/passwd.jpg", "height": 1, "width": 1})
    write(root, "coco", value)
    photograph(root / "unused.png", 3)
    found = Coco(path=str(root))
    assert_scene(found.load(SAMPLE))
    with pytest.raises(SampleInvalid, match=r"passwd.jpg': expected this image below .*found none"):
        found.load("../../etc/passwd.jpg")
    assert "images without a record in the annotations are not used (1): unused.png" in said(found)


def test_no_image_at_all_is_told_with_an_example(tmp_path, kind):
    write(tmp_path, kind)
    with pytest.raises(DatasetMissing, match=r"such as '.*gr.*1.jpg', found none of 1; copy them"):
        FORMATS[kind](path=str(tmp_path))


def test_two_images_of_the_same_name_belong_to_none(tmp_path):
    photograph(tmp_path / "a" / "1.jpg", 1)
    photograph(tmp_path / "b" / "1.jpg", 2)
    photograph(tmp_path / "c" / "2.jpg", 3)
    value = coco_value("1.jpg")
    value["images"].append({"id": 8, "file_name": "2.jpg", "height": HEIGHT, "width": WIDTH})
    write(tmp_path, "coco", value)
    with pytest.raises(SampleInvalid, match="found none or several"):
        Coco(path=str(tmp_path)).load("1.jpg")
    assert_scene(Coco(path=str(tmp_path), images="a").load("1"))


def test_another_size_is_an_error_that_names_both(root):
    write(root, "coco", coco_value(height=WIDTH, width=HEIGHT))
    with pytest.raises(
        SampleInvalid, match=r"expected the size of .* 60 x 40 pixels, got 40 x 60.*EXIF"
    ):
        Coco(path=str(root)).load(SAMPLE)
    write(root, "cvat", cvat_text(width=6))
    with pytest.raises(SampleInvalid, match="got 6 x 40; annotate this image"):
        Cvat(path=str(root)).load(SAMPLE)


@pytest.mark.parametrize("orientation", [3, 6])
def test_turned_photographs_follow_the_common_rule(tmp_path, kind, orientation):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    photograph(tmp_path / NAME, exif=exif)
    write(tmp_path, kind)
    turned = FORMATS[kind](path=str(tmp_path), mask_orientation="stored").load(SAMPLE)
    turns = {3: 2, 6: -1}[orientation]
    np.testing.assert_array_equal(masks_of(turned)["car"], np.rot90(CAR, turns))
    upright = FORMATS[kind](path=str(tmp_path))
    if orientation == 3:
        np.testing.assert_array_equal(masks_of(upright.load(SAMPLE))["car"], CAR)
        assert "EXIF rotates 1 photographs" in said(upright)
    else:
        with pytest.raises(SampleInvalid, match="mask_orientation='stored'"):
            upright.load(SAMPLE)


def test_crowds_are_ignored_pixels_except_on_the_object(root):
    value = coco_value()
    crowd = block(0, 0, 12, 20)
    runs = Rle.of(crowd).lengths.tolist()
    record = {"id": 3, "image_id": 7, "category_id": 3, "iscrowd": 1}
    value["annotations"].append(
        {**record, "segmentation": {"size": [HEIGHT, WIDTH], "counts": runs}}
    )
    write(root, "coco", value)
    assert "1 annotations are crowds (iscrowd=1): their pixels are ignored" in said(
        Coco(path=str(root))
    )
    car, tree = Coco(path=str(root)).load(SAMPLE).targets
    np.testing.assert_array_equal(car.ignore, crowd & ~CAR)
    np.testing.assert_array_equal(tree.ignore, crowd)
    assert (Coco(path=str(root), labels=["Bäume"]).load(SAMPLE).targets[0].ignore == crowd).all()


def test_records_that_are_left_out_are_counted(root):
    value = coco_value()
    value["annotations"].append({"id": 3, "image_id": 99, "category_id": 3})
    value["annotations"].append({"id": 4, "image_id": 7, "category_id": 3, "bbox": [1, 1, 2, 2]})
    write(root, "coco", value)
    text = said(Coco(path=str(root)))
    assert "1 annotations belong to images that the file does not list" in text
    assert "1 annotations have no segmentation and are left out" in text


def test_a_damaged_record_costs_its_image_and_is_named(root):
    photograph(root / "other.png", 2)
    value = coco_value()
    value["images"].append({"id": 8, "file_name": "other.png", "height": HEIGHT, "width": WIDTH})
    bad = {"id": 5, "image_id": 8, "category_id": 3, "segmentation": [[1, 2, 3]]}
    value["annotations"].append(bad)
    write(root, "coco", value)
    found = Coco(path=str(root))
    assert_scene(found.load(SAMPLE))
    with pytest.raises(
        SampleInvalid, match=r"instances.json, object 5 of other.png: polygon: expected an even"
    ):
        found.load("other")


def test_coco_in_annotations_and_the_choice_among_several(root):
    (root / "annotations").mkdir()
    write(root / "annotations", "coco")
    (root / "settings.json").write_text("{}")
    assert_scene(Coco(path=str(root)).load(SAMPLE))
    write(root, "coco")
    with pytest.raises(DatasetError, match=r"got 2; choose one by annotations='instances.json' or"):
        Coco(path=str(root))
    found = Coco(path=str(root), annotations="annotations/instances.json")
    assert_scene(found.load(SAMPLE))
    assert_scene(Coco(path=str(root / "instances.json")).load(SAMPLE))
    with pytest.raises(DatasetMissing, match=r"none.json: expected COCO instances, found no file"):
        Coco(path=str(root), annotations="none.json")


def test_two_records_of_an_image_are_refused(root):
    value = coco_value()
    value["images"].append({**value["images"][0], "id": 8})
    write(root, "coco", value)
    with pytest.raises(DatasetError, match=r"expected each image once, got grün 1.jpg twice"):
        Coco(path=str(root))


@pytest.mark.parametrize("text", ["", "[]", "{}", "[1]", '{"images": 1}', "[" * 100_000, "\xff"])
@pytest.mark.parametrize("name", ["coco", "labelme", "label-studio"])
def test_json_of_something_else_is_an_error_of_one_line(root, name, text):
    (root / "a.json").write_text(text, encoding="latin-1")
    with pytest.raises(DatasetError, match="expected") as caught:
        FORMATS[name](path=str(root))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500 + len(str(root))


def test_xml_of_something_else_is_an_error_of_one_line(root):
    for text, match in (
        ("<a/>", "got XML with <a>"),
        ("x", "expected XML"),
        ("<annotations><track/></annotations>", "CVAT for video"),
    ):
        (root / "a.xml").write_text(text)
        with pytest.raises(DatasetError, match=match):
            Cvat(path=str(root))


def test_shapes_of_cvat(root):
    shapes = (
        '<box label="a" xtl="10" ytl="5" xbr="30" ybr="20" rotation="90.0"/>'
        '<ellipse label="b" cx="40" cy="20" rx="10" ry="5"/>'
        '<polygon label="c" group_id="2" points="0,0;5,0;5,5;0,5"/>'
        '<polygon label="c" group_id="2" points="10,0;15,0;15,5;10,5"/>'
        '<polygon label="d" group_id="0" points="0,30;5,30;5,35;0,35"/>'
        '<polygon label="d" group_id="0" points="0,30;5,30;5,35;0,35"/>'
        '<polyline label="e" points="0,0;5,5"/><points label="e" points="0,0"/>'
    )
    head = f'<annotations><image id="0" name="{NAME}" width="60" height="40">'
    write(root, "cvat", f"{head}{shapes}</image></annotations>")
    found = Cvat(path=str(root))
    targets = {target.id: target for target in found.load(SAMPLE).targets}
    assert list(targets) == ["1", "2", "3", "5", "6"]
    assert targets["1"].mask[3:22, 13:27].all()
    assert targets["2"].mask.sum() == pytest.approx(np.pi * 50, rel=0.03)
    assert targets["3"].mask.sum() == 50
    text = said(found)
    assert "shapes without an area are left out: 1 polyline, 1 points" in text
    assert "6 = 5 in straße/grün 1" in text


def test_shapes_of_labelme(root):
    value = labelme_value()
    value["shapes"] = [
        {"label": "a", "points": [[30, 20], [10, 5]], "shape_type": "rectangle"},
        {"label": "b", "points": [[40, 20], [40, 30]], "shape_type": "circle"},
        {"label": "c", "points": corners(0, 0, 5, 5), "group_id": 1},
        {"label": "c", "points": corners(0, 10, 5, 15), "group_id": 1},
        {"label": "__ignore__", "points": corners(0, 0, 8, 8)},
        {"label": "d", "points": [[0, 0], [5, 5]], "shape_type": "line"},
    ]
    write(root, "labelme", value)
    found = Labelme(path=str(root))
    targets = {target.id: target for target in found.load(SAMPLE).targets}
    assert list(targets) == ["1", "2", "3"]
    np.testing.assert_array_equal(targets["1"].mask, CAR)
    assert targets["2"].mask.sum() == pytest.approx(np.pi * 100, rel=0.03)
    assert targets["3"].mask.sum() == 50
    assert targets["1"].ignore.sum() == 64 - 0
    assert targets["3"].ignore.sum() == 64 - 25
    assert "shapes without an area are left out: 1 line" in said(found)


@pytest.mark.parametrize("orientation", [1, 3, 6])
def test_an_image_inside_the_file_of_labelme_replaces_one_beside_it(tmp_path, orientation):
    value = labelme_value()
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    photograph(tmp_path / "made" / "a.jpg", exif=exif)
    content = (tmp_path / "made" / "a.jpg").read_bytes()
    value["imageData"] = base64.b64encode(content).decode()
    root = tmp_path / "photos"
    write(root, "labelme", value)
    found = Labelme(path=str(root), mask_orientation="stored")
    sample = found.load(SAMPLE)
    turns = {1: 0, 3: 2, 6: -1}[orientation]
    np.testing.assert_array_equal(sample.image, read_image(tmp_path / "made" / "a.jpg"))
    np.testing.assert_array_equal(masks_of(sample)["car"], np.rot90(CAR, turns))
    assert detect_dataset(root).spec.reference == "labelme"
    photograph(root / NAME, 5)
    assert not np.array_equal(Labelme(path=str(root)).load(SAMPLE).image, sample.image)


def test_a_damaged_image_inside_the_file_of_labelme_is_named(tmp_path):
    for text, told in (("zzz", "in base64 as 'imageData'"), ("AAAA", "expected a readable image")):
        write(tmp_path, "labelme", {**labelme_value(), "imageData": text, "imagePath": "/"})
        with pytest.raises(SampleInvalid, match=told):
            Labelme(path=str(tmp_path)).load(SAMPLE)


def test_a_group_is_one_object_with_polygons_and_masks(root):
    value = labelme_value()
    for shape in value["shapes"]:
        shape.update(label="both", group_id=4)
    write(root, "labelme", value)
    (target,) = Labelme(path=str(root)).load(SAMPLE).targets
    np.testing.assert_array_equal(target.mask, CAR | TREE)


@pytest.mark.parametrize(
    "name",
    [
        "/data/upload/1/0a1b2c3d-gr%C3%BCn%201.jpg",
        "/data/local-files/?d=stra%C3%9Fe/gr%C3%BCn%201.jpg",
        "s3://bucket/folder/straße/grün 1.jpg",
        "https://host.example/x/gr%C3%BCn%201.jpg?token=1",
        "straße/grün 1.jpg",
    ],
)
def test_addresses_of_label_studio_lead_to_the_image(root, name):
    write(root, "label-studio", label_studio_value(name))
    assert_scene(LabelStudio(path=str(root)).load(SAMPLE))


def test_regions_of_label_studio(root):
    box = {"x": 100 * 10 / WIDTH, "y": 100 * 5 / HEIGHT, "width": 100 * 20 / WIDTH, "height": 37.5}
    results = [
        region("r1", "rectanglelabels", "a", **box, rotation=0),
        region("e1", "ellipselabels", "b", x=50, y=50, radiusX=10, radiusY=10, rotation=0),
        region("k1", "keypointlabels", "c", x=50, y=50, width=0.5),
        # Shape and label as two results with the id of the region.
        {**region("p1", "polygon", "", points=percent(corners(5, 10, 20, 30)))},
        region("p1", "labels", "d", points=percent(corners(5, 10, 20, 30))),
    ]
    del results[3]["value"]["polygon"]
    value = [task("grün 1.jpg", results)]
    other = {"id": 9, "was_cancelled": False, "ground_truth": True, "result": results[:1]}
    value.append({**task("other.jpg", results), "annotations": [{"was_cancelled": True}]})
    write(root, "label-studio", value)
    found = LabelStudio(path=str(root))
    targets = {target.id: target for target in found.load(SAMPLE).targets}
    assert {one.id: one.label for one in targets.values()} == {"r1": "a", "e1": "b", "p1": "d"}
    np.testing.assert_array_equal(targets["r1"].mask, CAR)
    np.testing.assert_array_equal(targets["p1"].mask, CAR)
    assert targets["e1"].mask.sum() == pytest.approx(np.pi * 6 * 4, rel=0.1)
    text = said(found)
    assert "1 tasks have no annotation and are left out" in text
    assert "regions without an area are left out: 1 keypoint" in text
    value[0]["annotations"].append(other)
    write(root, "label-studio", value)
    found = LabelStudio(path=str(root))
    assert [target.id for target in found.load(SAMPLE).targets] == ["r1"], "the ground truth"
    assert "1 tasks have several annotations, of which one is used" in said(found)


def test_bitmasks_of_label_studio_are_where_they_are_not_transparent(root):
    pixels = np.zeros((HEIGHT, WIDTH, 4), np.uint8)
    pixels[TREE, 3] = 255  # black on transparent, as the tag BitMask writes it
    result = region("m1", "bitmasklabels", "Bäume", imageDataURL=data_url(pixels))
    write(root, "label-studio", [task("grün 1.jpg", [result])])
    (target,) = LabelStudio(path=str(root)).load(SAMPLE).targets
    assert target.label == "Bäume"
    np.testing.assert_array_equal(target.mask, TREE)


@pytest.mark.parametrize(
    ("pixels", "told"),
    [
        (np.zeros((HEIGHT, WIDTH), np.uint8), "expected transparent pixels around the object"),
        (np.zeros((4, 5, 4), np.uint8), "expected the image's size, 60 x 40, got 5 x 4"),
    ],
)
def test_a_bitmask_of_another_kind_costs_its_image(root, pixels, told):
    result = region("m1", "bitmasklabels", "car", imageDataURL=data_url(pixels))
    write(root, "label-studio", [task("grün 1.jpg", [result])])
    with pytest.raises(SampleInvalid, match=told):
        LabelStudio(path=str(root)).load(SAMPLE)


def test_masks_that_label_studio_exports_as_png_are_explained(tmp_path):
    photograph(tmp_path / "task-1-annotation-4-by-1-tag-car-0.png")
    with pytest.raises(DatasetMissing, match=r"got one as PNG.*Export it as JSON"):
        detect_dataset(tmp_path)


def test_the_minimal_export_of_label_studio(root):
    size = {"original_width": WIDTH, "original_height": HEIGHT}
    polygon = {"points": percent(corners(5, 10, 20, 30)), "polygonlabels": ["car"], **size}
    painted = {"format": "rle", "rle": brush(TREE), "brushlabels": ["Bäume"], **size}
    value = [
        {"image": "/data/upload/0a1b2c3d-grün 1.jpg", "id": 1, "label": [polygon], "tag": [painted]}
    ]
    write(root, "label-studio", value)
    assert_scene(LabelStudio(path=str(root)).load(SAMPLE))


def test_an_image_that_was_rotated_in_label_studio_is_refused(root):
    value = label_studio_value()
    value[0]["annotations"][0]["result"][0]["image_rotation"] = 90
    write(root, "label-studio", value)
    with pytest.raises(SampleInvalid, match="not rotated in Label Studio"):
        LabelStudio(path=str(root)).load(SAMPLE)


def test_more_masks_than_the_limit_are_refused(root, monkeypatch):
    write(root, "coco")
    found = Coco(path=str(root))
    monkeypatch.setenv("SEGARENA_MAX_PIXELS", str(HEIGHT * WIDTH))
    found.load(SAMPLE)
    value = coco_value()
    everywhere = {"size": [HEIGHT, WIDTH], "counts": [0, HEIGHT * WIDTH]}
    for number in range(3, 6):
        record = {"id": number, "image_id": 7, "category_id": 3, "segmentation": everywhere}
        value["annotations"].append(record)
    write(root, "coco", value)
    with pytest.raises(SampleInvalid, match=r"expected at most 4,800 pixels"):
        Coco(path=str(root)).load(SAMPLE)


def test_datasets_are_pickled_for_workers(root, kind):
    write(root, kind)
    again = pickle.loads(pickle.dumps(FORMATS[kind](path=str(root))))
    assert_scene(again.load(SAMPLE))
    assert Path(again.files_of(SAMPLE)[0]).is_file()


def places(value, path=()):
    """Return the path of each value in a JSON value, without those of long lists."""
    found = [path]
    items = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = enumerate(value[:4])
    for key, inner in items:
        found += places(inner, (*path, key))
    return found


def replaced(value, path, other):
    """Return a copy in which another value replaces the one at a path."""
    if not path:
        return other
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], other)
    return copy


@pytest.mark.long
@pytest.mark.parametrize("name", ["coco", "labelme", "label-studio"])
def test_any_value_of_another_type_is_read_or_told_in_a_line(root, name):
    values = {"coco": coco_value, "labelme": labelme_value, "label-studio": label_studio_value}
    value = values[name]()
    for path in places(value)[1:]:
        for other in (None, 1e308, "x", []):
            write(root, name, replaced(value, path, other))
            try:
                findings = FORMATS[name](path=str(root)).check()
            except DatasetError as error:
                messages = [str(error)]
            else:
                messages = [finding.message for finding in findings]
            assert not [message for message in messages if "\n" in message or len(message) > 800]


def test_damaged_xml_is_read_or_told_in_a_line(root, rng):
    text = cvat_text().encode()
    for _ in range(200):
        damaged = bytearray(text)
        for place in rng.integers(0, len(text), 3).tolist():
            damaged[place] = int(rng.integers(32, 127))
        (root / "annotations.xml").write_bytes(bytes(damaged))
        try:
            messages = [finding.message for finding in Cvat(path=str(root)).check()]
        except DatasetError as error:
            messages = [str(error)]
        assert not [message for message in messages if "\n" in message or len(message) > 800]
