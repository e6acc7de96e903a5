import json

import numpy as np
import pytest

from segarena.arrays.coco_rle import Rle
from segarena.errors import DatasetError, InvalidInput, InvalidMask
from segarena.systems.scenes.files import write_scenes
from segarena.systems.scenes.measures.coco_results_evaluation import judge_segments
from segarena.systems.scenes.model.rasters import rasterise
from segarena.systems.scenes.model.scene import ImageRecord, Region, SceneSet, make_scene


def box(top, left, bottom, right):
    return [(top, left), (top, right), (bottom, right), (bottom, left)]


@pytest.fixture
def scene():
    regions = [
        (Region(id="1", name="a", is_stuff=False), [box(10, 10, 30, 30)]),
        (Region(id="2", name="b", is_stuff=False), [box(10, 20, 30, 40)]),
    ]
    return make_scene(ImageRecord(id="5", shape=(50, 60)), regions)


def segment(mask, score=0.5, **more):
    return {"image_id": 5, "score": score, "segmentation": coded(mask), **more}


def coded(mask):
    return {"size": list(mask.shape), "counts": Rle.of(mask).counts}


def recalls(tmp_path, scene, segments, **options):
    write_scenes(SceneSet(scenes=(scene,)), tmp_path / "truth.json", "coco-amodal")
    (tmp_path / "segments.json").write_text(json.dumps(segments))
    results = judge_segments(
        [tmp_path / "segments.json"], tmp_path / "truth.json", most=(10,), **options
    )
    return {(r.kind, r.occlusion): r.average_recall for r in results}


def test_segments_are_judged_against_full_extents_or_visible_parts(tmp_path, scene):
    rasters = rasterise(scene)
    amodal = [segment(rasters.amodal(place)) for place in (0, 1)]
    visible = [segment(rasters.visible(place)) for place in (0, 1)]
    assert recalls(tmp_path, scene, amodal)["all", "all"] == 1.0
    assert recalls(tmp_path, scene, visible, against="visible")["all", "heavy"] == 1.0
    # Half of the second region is hidden: its visible part has IoU .5, enough at one of ten thresholds.
    assert recalls(tmp_path, scene, visible)["all", "heavy"] == pytest.approx(0.1)
    both = [
        {**one, "amodal_mask": other["segmentation"]}
        for one, other in zip(visible, amodal, strict=True)
    ]
    assert recalls(tmp_path, scene, both, segment_extent="amodal")["things", "all"] == 1.0


@pytest.fixture
def stated(tmp_path):
    """Return two disjoint squares, and a function that evaluates the first square's pixels against a changed file."""

    def judge(region, against="amodal", **options):
        squares = [[0, 0, 10, 0, 10, 10, 0, 10], [20, 0, 40, 0, 40, 10, 20, 10]]
        regions = [
            {"segmentation": flat, "name": "x", "isStuff": 0, "occlude_rate": 0} for flat in squares
        ]
        regions = [
            {**one, "order": order, "area": 100 * order} for order, one in enumerate(regions, 1)
        ]
        regions[1] |= region
        image = {"id": 5, "file_name": "5.jpg", "height": 20, "width": 50}
        annotations = [{"id": 1, "image_id": 5, "author": "", "regions": regions}]
        (tmp_path / "truth.json").write_text(
            json.dumps({"images": [image], "annotations": annotations})
        )
        masks = np.zeros((2, 20, 50), bool)
        masks[0, :5, :10] = masks[1, :10, 20:40] = True
        (tmp_path / "segments.json").write_text(json.dumps([segment(mask) for mask in masks]))
        results = judge_segments(
            [tmp_path / "segments.json"],
            tmp_path / "truth.json",
            most=(10,),
            against=against,
            **options,
        )
        return {r.occlusion: r.average_recall for r in results if r.kind == "all"}

    return judge


def test_published_takes_the_occlusion_that_the_file_states(stated):
    # Half of the first square is found, IoU .5 at one of ten thresholds; the second is found whole.
    found = stated({"occlude_rate": 0.25}, is_published=True)
    assert found == pytest.approx({"all": 0.55, "none": 0.1, "partial": 1, "heavy": 1})
    found = stated({"occlude_rate": 0.2499}, is_published=True)
    assert found == pytest.approx({"all": 0.55, "none": 0.1, "partial": 1, "heavy": -1})
    found = stated({"occlude_rate": 0.25})
    assert found == pytest.approx(
        {"all": 0.55, "none": 0.55, "partial": np.nan, "heavy": np.nan}, nan_ok=True
    )


def test_published_takes_the_visible_part_that_the_file_states(stated):
    seen = np.zeros((20, 50), bool)
    seen[:10, 20:30] = True
    region = {"occlude_rate": 0.5, "visible_mask": coded(seen)}
    assert stated(region, "visible", is_published=True)["heavy"] == pytest.approx(0.1)
    assert stated(region, "visible")["none"] == pytest.approx(0.55)
    # Without it, the full extent, also where the order hides some of it.
    assert stated({"occlude_rate": 0.5}, "visible", is_published=True)["heavy"] == 1


def test_an_image_without_segments_counts(tmp_path, scene):
    assert recalls(tmp_path, scene, [])["all", "all"] == 0.0
    assert recalls(tmp_path, scene, [], is_published=True)["stuff", "all"] == -1.0


def test_what_is_no_list_of_segments_is_refused(tmp_path, scene):
    with pytest.raises(DatasetError, match="list of segments"):
        recalls(tmp_path, scene, {"annotations": []})
    with pytest.raises(InvalidInput, match="amodal or visible"):
        recalls(tmp_path, scene, [], against="modal")
    with pytest.raises(InvalidMask, match=r"score 0\.5"):
        recalls(tmp_path, scene, [{"image_id": 5, "score": 0.5, "segmentation": [[1, 2, 3]]}])
