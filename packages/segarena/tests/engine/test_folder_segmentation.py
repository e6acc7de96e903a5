from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import pytest

from segarena.engine.folder_segmentation import SegmentationSummary, segment_folder
from segarena.errors import (
    DatasetMissing,
    InvalidImage,
    InvalidInput,
    InvalidMask,
    PluginInvalid,
    RunConflict,
)
from segarena.work.sharing.shared_ledger import SharedLedger

pytestmark = pytest.mark.usefixtures("quick_workers")

SEGMENTER = "superpixel-prototypes(superpixels=60)"


def scene(centre, seed):
    rows, columns = np.mgrid[:60, :80]
    disc = (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 < 15**2
    image = np.random.default_rng(seed).normal((60, 80, 140), 8, (60, 80, 3))
    image[disc] = (220, 40, 30)
    return image.clip(0, 255).astype(np.uint8), disc


def write(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), pixels[..., ::-1] if pixels.ndim == 3 else pixels)


@pytest.fixture
def folder(tmp_path):
    image, disc = scene((30, 30), 0)
    write(tmp_path / "example.png", image)
    write(tmp_path / "example_mask.png", disc.astype(np.uint8) * 255)
    for name, centre in (("a", (25, 50)), ("trip/b c", (35, 25))):
        write(tmp_path / "photos" / f"{name}.jpg", scene(centre, 1)[0])
    return tmp_path


def segment(folder, **how):
    pair = (folder / "example.png", folder / "example_mask.png")
    given = {"supports": [pair], "queries": folder / "photos", "out": folder / "masks", **how}
    return segment_folder(given.pop("segmenter", SEGMENTER), given.pop("supports"), **given)


def test_each_image_gets_a_mask_named_as_it(folder):
    told = []
    found = segment(folder, on_progress=lambda state: told.append(state.done))
    assert (found.images, found.done, found.resumed, found.empty, found.failed) == (2, 2, 0, 0, {})
    assert told == [0, 1, 2]
    for name, centre in (("a", (25, 50)), ("trip/b c", (35, 25))):
        mask = cv2.imread(str(folder / "masks" / f"{name}.png"), cv2.IMREAD_UNCHANGED)
        assert set(np.unique(mask)) == {0, 255}
        disc = scene(centre, 1)[1]
        assert ((mask > 0) & disc).sum() / ((mask > 0) | disc).sum() > 0.7


def test_it_goes_on_where_it_was_with_the_same_bytes(folder):
    segment(folder)
    file = folder / "masks" / "trip" / "b c.png"
    before = file.read_bytes()
    file.unlink()
    found = segment(folder)
    assert (found.done, found.resumed) == (2, 1)
    assert file.read_bytes() == before


def test_processes_that_share_divide_the_images_and_all_return_with_all(folder):
    segment(folder, out=folder / "alone")
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: segment(folder, share=True), range(2)))
    assert [(each.done, each.empty, each.failed) for each in found] == [(2, 0, {})] * 2
    masks = {
        file.relative_to(folder / "masks"): file
        for file in (folder / "masks").rglob("*")
        if file.is_file()
    }
    assert len(masks) == 3
    assert all(
        file.read_bytes() == (folder / "alone" / name).read_bytes() for name, file in masks.items()
    )


def test_while_images_are_shared_nobody_makes_their_masks_alone(folder):
    segment(folder)
    with (
        SharedLedger(folder / "masks" / "segment.claims", None, {}),
        pytest.raises(RunConflict, match=r"is shared by .*; add --share"),
    ):
        segment(folder)
    assert segment(folder).done == 2


def test_masks_made_otherwise_are_not_mixed(folder):
    segment(folder)
    with pytest.raises(RunConflict, match=r"contains work with segmenter.*choose another --out"):
        segment(folder, segmenter="copy-support-mask")
    write(folder / "example.png", scene((20, 20), 5)[0])
    with pytest.raises(RunConflict, match=r"supports\[0\]\.image"):
        segment(folder)
    assert (
        json.loads((folder / "masks" / "segment.json").read_text())["segmenter"]["options"][
            "superpixels"
        ]
        == 60
    )


def test_an_image_that_fails_is_named_and_the_others_go_on(folder):
    (folder / "photos" / "broken.jpg").write_bytes(b"no image")
    found = segment(folder)
    assert (found.images, found.done) == (3, 2)
    assert list(found.failed) == ["broken"]
    assert "expected a readable image file" in found.failed["broken"]


@pytest.mark.long
def test_processes_make_the_same_masks(folder):
    (folder / "photos" / "broken.jpg").write_bytes(b"no image")
    here, there = (
        segment(folder, out=folder / str(workers), workers=workers) for workers in (0, 2)
    )
    assert here == there
    assert list(there.failed) == ["broken"]
    masks = [
        [file.read_bytes() for file in sorted((folder / name).rglob("*.png"))] for name in "02"
    ]
    assert masks[0] == masks[1]
    assert len(masks[0]) == 2


def test_masks_are_the_same_wherever_they_are_written(folder, elsewhere):
    segment(folder, out=folder / "here")
    found = segment(folder, out=folder / "there", workers=elsewhere)
    assert (found.images, found.done, found.empty, found.failed) == (2, 2, 0, {})
    for file in ("a.png", "trip/b c.png"):
        assert (folder / "there" / file).read_bytes() == (folder / "here" / file).read_bytes()
    assert (elsewhere.travelled > 800) is not elsewhere.sees_folder


def test_masks_without_a_pixel_are_counted(folder):
    assert segment(folder, segmenter="nothing").empty == 2


def test_one_file_may_be_asked_about(folder):
    found = segment(folder, queries=folder / "photos" / "a.jpg")
    assert found == SegmentationSummary(images=1, done=1)
    assert (folder / "masks" / "a.png").is_file()


def test_what_cannot_be_done_is_refused_before_anything_is_written(folder):
    pair = (folder / "example.png", folder / "example_mask.png")
    with pytest.raises(InvalidInput, match="at least one support"):
        segment(folder, supports=[])
    with pytest.raises(PluginInvalid, match="grabcut does not accept support examples"):
        segment(folder, segmenter="grabcut")
    with pytest.raises(DatasetMissing, match="expected a folder of images"):
        segment(folder, queries=folder / "none")
    with pytest.raises(InvalidImage, match="got none"):
        segment(folder, supports=[(folder / "none.png", pair[1])])
    with pytest.raises(InvalidMask, match="0 and one other value"):
        segment(folder, supports=[(pair[0], grey(folder))])
    write(folder / "photos" / "a.png", scene((25, 50), 1)[0])
    with pytest.raises(InvalidInput, match="would have the same mask file"):
        segment(folder)
    (folder / "empty").mkdir()
    with pytest.raises(DatasetMissing, match="expected images"):
        segment(folder, queries=folder / "empty")
    assert not (folder / "masks").exists()


def grey(folder):
    write(folder / "grey.png", np.arange(60 * 80).reshape(60, 80).astype(np.uint8))
    return folder / "grey.png"
