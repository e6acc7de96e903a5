import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from segarena.errors import DatasetError, DatasetMissing, InvalidInput
from segarena.files.images import read_mask_values
from segarena.systems.scenes.files import (
    FORMATS,
    READABLE,
    format_losses,
    read_scenes,
    write_scenes,
)
from segarena.systems.scenes.model.rasters import rasterise
from segarena.systems.scenes.model.scene import SceneSet


def pixels(scene, visibility=None):
    rasters = rasterise(scene, visibility=visibility)
    return [(rasters.amodal(place), rasters.visible(place)) for place in range(len(scene.regions))]


def check_same_pixels(scenes, others):
    for scene, other in zip(scenes, others, strict=True):
        for (full, seen), (other_full, other_seen) in zip(
            pixels(scene), pixels(other), strict=True
        ):
            np.testing.assert_array_equal(full, other_full)
            np.testing.assert_array_equal(seen, other_seen)


def by_coco_rule(scenes):
    return replace(
        scenes, scenes=tuple(replace(scene, fill_rule="coco") for scene in scenes.scenes)
    )


def test_coco_amodal_comes_back_with_nothing_lost_but_what_is_said(demo_set, tmp_path):
    assert format_losses(demo_set, "coco-amodal") == [
        "the fill rule: masks and areas are written and read by the COCO rule"
    ]
    write_scenes(demo_set, tmp_path / "a.json", "coco-amodal")
    again = read_scenes(tmp_path / "a.json")
    assert again.defects == ()
    for scene, back in zip(demo_set.scenes, again.scenes, strict=True):
        assert back.image == scene.image
        assert back.annotator == scene.annotator
        assert [r.name for r in back.regions] == [r.name for r in scene.regions]
        assert [r.is_stuff for r in back.regions] == [r.is_stuff for r in scene.regions]
        assert [tuple(map(tuple, p.tolist())) for r in back.regions for p in back.polygons(r)] == [
            tuple(map(tuple, p.tolist())) for r in scene.regions for p in scene.polygons(r)
        ]
        assert len(back.shared_edges()) == len(scene.shared_edges())
    check_same_pixels(by_coco_rule(demo_set).scenes, again.scenes)


def test_what_was_read_once_is_written_and_read_as_the_same(demo_set, tmp_path):
    write_scenes(demo_set, tmp_path / "a.json", "coco-amodal")
    once = read_scenes(tmp_path / "a.json")
    assert format_losses(once, "coco-amodal") == []
    write_scenes(once, tmp_path / "b.json", "coco-amodal")
    assert read_scenes(tmp_path / "b.json") == once
    assert (tmp_path / "b.json").read_bytes() == (tmp_path / "a.json").read_bytes()


def test_coco_keeps_extent_visibility_order_and_names_of_the_first_annotator(demo_set, tmp_path):
    demo_set = by_coco_rule(demo_set)
    assert "2 annotations are left out" in format_losses(demo_set, "coco")[-1]
    write_scenes(demo_set, tmp_path / "a.json", "coco")
    again = read_scenes(tmp_path / "a.json")
    firsts = [found[0] for found in demo_set.by_image().values()]
    check_same_pixels(firsts, again.scenes)
    for scene, back in zip(firsts, again.scenes, strict=True):
        assert back.has_depth
        assert [(r.name, r.is_stuff) for r in back.regions] == [
            (r.name, r.is_stuff) for r in scene.regions
        ]
        assert [r.name for r in back.regions] == [r.name for r in scene.regions]


def test_coco_modal_has_the_visible_masks_of_visible_regions(demo_set, tmp_path):
    write_scenes(demo_set, tmp_path / "a.json", "coco-modal")
    firsts = [found[0] for found in demo_set.by_image().values()]
    for scene, back in zip(firsts, read_scenes(tmp_path / "a.json").scenes, strict=True):
        seen = [mask for _, mask in pixels(scene) if mask.any()]
        assert not back.has_depth
        for mask, (full, _) in zip(seen, pixels(back), strict=True):
            np.testing.assert_array_equal(full, mask)
    records = json.loads((tmp_path / "a.json").read_text())["annotations"]
    rows, columns = np.nonzero(seen[-1])
    assert records[-1]["bbox"] == [columns.min(), rows.min(), np.ptp(columns) + 1, np.ptp(rows) + 1]
    assert records[-1]["area"] == len(rows)


@pytest.mark.parametrize("kind", ["png-16", "png-palette"])
def test_label_images_hold_the_modal_segmentation(kind, demo_set, tmp_path):
    files = write_scenes(demo_set, tmp_path, kind)
    assert [file.name for file in files][:2] == ["scene-1.exact.png", "scene-1.confused.png"]
    for scene, file in zip(demo_set.scenes, files, strict=True):
        np.testing.assert_array_equal(read_mask_values(file), rasterise(scene).owner)


def test_annotators_without_names_get_numbered_files(demo_set, tmp_path):
    nameless = replace(
        demo_set, scenes=tuple(replace(scene, annotator="") for scene in demo_set.scenes)
    )
    files = write_scenes(nameless, tmp_path, "png-16")
    assert [file.name for file in files] == [
        "scene-1.png",
        "scene-1.2.png",
        "scene-2.png",
        "scene-2.2.png",
    ]


def test_run_lengths_of_regions_come_back_as_the_same_pixels(demo_set, tmp_path):
    write_scenes(demo_set, tmp_path / "a.json", "rle")
    again = read_scenes(tmp_path / "a.json")
    check_same_pixels(demo_set.scenes, again.scenes)
    assert [scene.annotator for scene in again.scenes] == [
        scene.annotator for scene in demo_set.scenes
    ]
    write_scenes(again, tmp_path / "b.json", "rle")
    assert (tmp_path / "b.json").read_bytes() == (tmp_path / "a.json").read_bytes()


def test_csv_has_the_numbers_of_every_region(demo_set, tmp_path):
    write_scenes(demo_set, tmp_path / "a.csv", "csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    scene = demo_set.scenes[0]
    for row, region, (full, seen) in zip(rows, scene.regions, pixels(scene), strict=False):
        assert row["name"] == region.name
        assert (int(row["area_px"]), int(row["visible_px"])) == (full.sum(), seen.sum())
        assert float(row["occlusion"]) == pytest.approx(1 - seen.sum() / full.sum())
        assert (int(row["top"]), int(row["right"])) == (
            np.nonzero(full)[0].min(),
            np.nonzero(full)[1].max() + 1,
        )
        assert float(row["polygon_area_px"]) == pytest.approx(full.sum(), rel=0.01)
    assert len(rows) == sum(len(scene.regions) for scene in demo_set.scenes)


@pytest.mark.parametrize("name", FORMATS)
def test_a_set_without_scenes_can_be_written_anywhere(name, tmp_path):
    assert format_losses(SceneSet(), name) == []
    write_scenes(SceneSet(), tmp_path / "out", name)


def test_a_folder_is_all_annotation_files_in_it_and_one_bad_file_spoils_none(demo_set, tmp_path):
    write_scenes(demo_set, tmp_path / "sub" / "a.json", "coco-amodal")
    (tmp_path / "b.json").write_text("{")
    (tmp_path / "c.json").write_text('[{"layers": 3}]')
    (tmp_path / "notes.txt").write_text("not looked at")
    again = read_scenes(tmp_path)
    assert len(again.scenes) == len(demo_set.scenes)
    damaged, other = again.defects
    assert (damaged.kind, damaged.severity, other.kind, other.severity) == (
        "file",
        "error",
        "file",
        "note",
    )
    assert "b.json: expected JSON" in damaged.message
    assert "c.json: expected annotations" in other.message


def test_subfolders_that_annotate_the_same_image_are_annotators(demo_set, tmp_path):
    shared, other = demo_set.by_image().values()
    anonymous = [replace(scene, annotator="") for scene in (shared[0], shared[1], other[0])]
    for folder, scene in zip(("anna", "ben", "ben"), anonymous, strict=True):
        write_scenes(SceneSet(scenes=(scene,)), tmp_path / folder / scene.image.id, "labelme")
    again = read_scenes(tmp_path)
    names = {(scene.image.id, scene.annotator) for scene in again.scenes}
    image = again.scenes[0].image.id
    assert {annotator for key, annotator in names if key == image} == {"anna/1", "ben/1"}
    assert {annotator for key, annotator in names if key != image} == {""}


def test_what_cannot_be_read_is_one_typed_error(tmp_path):
    with pytest.raises(DatasetMissing, match="found none"):
        read_scenes(tmp_path / "none.json")
    with pytest.raises(DatasetMissing, match="found none"):
        read_scenes(tmp_path)
    (tmp_path / "a.json").write_text('{"hello": 1}')
    with pytest.raises(DatasetError, match="got other JSON"):
        read_scenes(tmp_path / "a.json")
    (tmp_path / "a.json").write_text("[" * 100_000)
    with pytest.raises(DatasetError, match="expected JSON"):
        read_scenes(tmp_path / "a.json")
    with pytest.raises(InvalidInput, match="expected one of"):
        read_scenes(tmp_path / "a.json", file_format="word")
    with pytest.raises(InvalidInput, match="expected one of"):
        write_scenes(SceneSet(), tmp_path / "x", "word")


def test_huge_files_are_refused_before_they_are_read(tmp_path):
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate((2 << 30) + 1)
    with pytest.raises(DatasetError, match="at most 2 GiB"):
        read_scenes(tmp_path / "a.json")


def test_every_readable_format_is_named():
    assert set(READABLE) == {"coco-amodal", "coco", "ann", "labelme", "cvat", "rle"}
