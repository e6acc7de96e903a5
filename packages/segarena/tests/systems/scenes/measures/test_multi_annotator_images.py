import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.io import savemat

from segarena.arrays.label_edges import thin_label_edges
from segarena.errors import DatasetMissing, InvalidInput, InvalidMask, RunConflict
from segarena.systems.scenes.demo.demo_files import write_demo
from segarena.systems.scenes.demo.scene_generator import demo_scenes
from segarena.systems.scenes.measures.multi_annotator_images import find_images, read_boundaries
from segarena.systems.scenes.measures.resumable_measurement import MeasurementJob, measure_images

pytestmark = pytest.mark.usefixtures("quick_workers")

LABELS = np.repeat([[1, 2]], 6, axis=0).repeat([5, 6], axis=1)


def write_compact(path, labels=LABELS, boundaries=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    more = {} if boundaries is None else {"boundaries": np.packbits(boundaries, axis=2)}
    np.savez(path, labels=np.stack([labels, labels]).astype(np.uint8), **more)


def test_compact_and_original_files_hold_the_same(tmp_path):
    edges = np.random.default_rng(0).random((2, *LABELS.shape)) < 0.3
    write_compact(tmp_path / "compact" / "human" / "test" / "7.npz", boundaries=edges)
    cells = np.empty((1, 2), object)
    for k in range(2):
        cells[0, k] = {
            "Segmentation": LABELS.astype(np.uint16),
            "Boundaries": edges[k].astype(np.uint8),
        }
    original = tmp_path / "original" / "BSR" / "BSDS500" / "data" / "groundTruth" / "test"
    original.mkdir(parents=True)
    savemat(original / "7.mat", {"groundTruth": cells})
    for folder in ("compact", "original"):
        (image,) = find_images(tmp_path / folder)
        assert (image.id, image.split) == ("7", "test")
        for k, drawing in enumerate(image.drawings()):
            np.testing.assert_array_equal(drawing.labels, LABELS)
            np.testing.assert_array_equal(drawing.edges, edges[k])


def test_files_without_boundaries_have_those_of_their_regions(tmp_path):
    write_compact(tmp_path / "7.npz")
    (image,) = find_images(tmp_path)
    np.testing.assert_array_equal(image.drawings()[0].edges, thin_label_edges(LABELS))


@pytest.mark.long
def test_files_of_scenes_have_their_images(tmp_path):
    write_demo(demo_scenes(images=2), tmp_path)
    images = find_images(tmp_path / "scenes.json")
    assert [image.id for image in images] == ["1", "2"]
    assert len(images[0].drawings()) == 5


def test_a_split_of_scenes_is_refused_because_they_have_none(tmp_path):
    write_demo(demo_scenes(images=1), tmp_path)
    with pytest.raises(DatasetMissing, match="scenes, which have no splits"):
        find_images(tmp_path / "scenes.json", splits=["val"])


def test_splits_are_chosen_by_name(tmp_path):
    for split in ("test", "val"):
        write_compact(tmp_path / "human" / split / f"{split}.npz")
    assert [image.id for image in find_images(tmp_path, splits=["val"])] == ["val"]
    with pytest.raises(DatasetMissing, match="found splits: test, val"):
        find_images(tmp_path, splits=["train"])
    with pytest.raises(DatasetMissing, match="nowhere: expected a file or folder of annotations"):
        find_images(tmp_path / "nowhere")


def test_boundaries_of_another_number_are_refused(tmp_path):
    write_compact(tmp_path / "7.npz", boundaries=np.zeros((1, *LABELS.shape), bool))
    with pytest.raises(InvalidMask, match="boundaries"):
        read_boundaries(tmp_path / "7.npz", [LABELS, LABELS])
    (tmp_path / "8.npz").write_bytes(b"not an archive")
    with pytest.raises(InvalidMask):
        find_images(tmp_path)[1].drawings()


def double(value):
    if value is None:
        raise InvalidMask("no mask")
    return {"twice": 2 * value}


def test_work_goes_on_where_it_stopped_also_that_of_an_earlier_version(tmp_path):
    lines = [
        {"rule": 1},
        {"key": "0", "result": {"twice": 0}},
        {"key": "1", "result": {"twice": 2}},
    ]
    text = (
        "".join(json.dumps(line) + "\n" for line in lines) + '{"key": "2", "resu'
    )  # cut off while it was written
    (tmp_path / "images.jsonl").write_text(text)
    items, asked = {str(k): k for k in range(4)}, []
    for _ in range(2):
        found = measure_images(items, lambda k: asked.append(k) or double(k), {"rule": 1}, tmp_path)
        assert asked == [2, 3]
        assert found == {str(k): {"twice": 2 * k} for k in range(4)}
    with pytest.raises(
        RunConflict,
        match=r"contains work with rule = 1, but the requested work has 2; choose another --out",
    ):
        measure_images(items, double, {"rule": 2}, tmp_path)


def test_an_image_that_fails_is_said_once_the_others_are_done(tmp_path):
    items, asked = {"a": None, "b": 1, "c": None}, []
    with pytest.raises(InvalidMask, match=r"a: no mask \(2 images fail; the others are done\)"):
        measure_images(items, lambda k: asked.append(k) or double(k), {}, tmp_path)
    assert measure_images({"b": 1}, lambda k: asked.append(k), {}, tmp_path) == {"b": {"twice": 2}}
    assert asked == [None, 1, None]


@pytest.mark.long
def test_processes_give_the_same_in_the_same_order(tmp_path):
    write_demo(demo_scenes(images=3), tmp_path)
    images = find_images(tmp_path / "scenes.json")
    survey = MeasurementJob.of_statistics()
    alone, together = (
        list(survey.run(images, tmp_path / str(w), workers=w).items()) for w in (0, 2)
    )
    assert json.dumps(alone) == json.dumps(together)


def test_processes_that_share_a_folder_give_the_same_to_each(tmp_path):
    items, asked = {str(k): k for k in range(20)}, []

    def take_part(_):
        return measure_images(
            items, lambda k: asked.append(k) or double(k), {}, tmp_path, share=True
        )

    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(take_part, range(3)))
    assert [list(each.items()) for each in found] == [
        [(str(k), {"twice": 2 * k}) for k in range(20)]
    ] * 3
    assert sorted(asked) == list(range(20))
    with pytest.raises(InvalidInput, match="expected --out with a folder"):
        measure_images(items, double, {}, None, share=True)
