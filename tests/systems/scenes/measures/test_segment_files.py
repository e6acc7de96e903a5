import json

import pytest

from segarena.arrays.coco_rle import Rle
from segarena.errors import DatasetError, InvalidInput, InvalidMask
from segarena.systems.scenes.files import write_scenes
from segarena.systems.scenes.measures.segment_files import judge_segments
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
    results = judge_segments([tmp_path / "segments.json"], tmp_path / "truth.json", most=(10,), **options)
    return {(r.kind, r.occlusion): r.average_recall for r in results}


def test_segments_are_judged_against_full_extents_or_visible_parts(tmp_path, scene):
    rasters = rasterise(scene)
    amodal = [segment(rasters.amodal(place)) for place in (0, 1)]
    visible = [segment(rasters.visible(place)) for place in (0, 1)]
    assert recalls(tmp_path, scene, amodal)["all", "all"] == 1.0
    assert recalls(tmp_path, scene, visible, against="visible")["all", "heavy"] == 1.0
    # Half of the second region is hidden: its visible part has IoU .5, enough at one of ten thresholds.
    assert recalls(tmp_path, scene, visible)["all", "heavy"] == pytest.approx(0.1)
    both = [{**one, "amodal_mask": other["segmentation"]} for one, other in zip(visible, amodal, strict=True)]
    assert recalls(tmp_path, scene, both, given="amodal")["things", "all"] == 1.0


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
