"""Masks of photographs that EXIF rotates: the assumption about them, and where it is stated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import segarena
from segarena.datasets.folder import Folder
from segarena.engine.run_folder import RunFolder
from segarena.engine.run_integrity import check_run
from segarena.errors import SampleInvalid
from segarena.roles import Benchmark
from segarena.systems.clicks.datasets.click_datasets import davis345
from segarena.systems.oneshot.datasets.folder import OneShotFolder
from segarena.systems.videos.datasets.video_folder import VideoFolder

ORIENTATION = 0x0112
HALF_TURN = 3
QUARTER_TURN = 6
RULES = Benchmark(name="b", users=("centre",), metrics=("iou",), rounds=1, summary=())


def exif(orientation):
    """Return EXIF data with this orientation; None gives no tag."""
    tags = Image.Exif()
    if orientation is not None:
        tags[ORIENTATION] = orientation
    return tags


def write_pair(
    root,
    name,
    *,
    orientation,
    mask_orientation=None,
    shape=(20, 30),
):
    """Write a JPEG and its mask, whose object lies in the first rows of the stored pixels."""
    for folder in ("images", "masks"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    pixels = np.zeros((*shape, 3), dtype=np.uint8)
    pixels[:5, :9] = 255
    Image.fromarray(pixels).save(root / "images" / f"{name}.jpg", exif=exif(orientation))
    mask = np.zeros(shape, dtype=np.uint8)
    mask[:5, :9] = 255
    Image.fromarray(mask).save(root / "masks" / f"{name}.png", exif=exif(mask_orientation))


def bright(sample):
    """Return the bright pixels of a photograph by `write_pair`, on which its mask belongs."""
    return sample.image[:, :, 0] > 128


@pytest.mark.parametrize(
    ("orientation", "shape"), [(2, (20, 30)), (3, (20, 30)), (4, (20, 30)), (6, (20, 20))]
)
def test_a_turn_that_the_shape_cannot_show_is_named(tmp_path, orientation, shape):
    write_pair(tmp_path, "a", orientation=orientation, shape=shape)
    write_pair(tmp_path, "b", orientation=orientation, shape=shape)
    write_pair(tmp_path, "plain", orientation=1)
    found = Folder(path=str(tmp_path))
    messages = [finding.message for finding in found.check() if not finding.is_error]
    (message,) = (message for message in messages if "EXIF" in message)
    assert message.startswith("EXIF rotates 2 photographs")
    assert "a.jpg with a.png" in message
    assert "set mask_orientation='stored'" in message
    (target,) = found.load("a").targets
    assert not np.array_equal(target.mask, bright(found.load("a"))), "the mask is of stored pixels"


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("shape", [(20, 30), (20, 20)])
def test_masks_of_stored_pixels_are_turned_on_request(tmp_path, orientation, shape):
    write_pair(tmp_path, "a", orientation=orientation, shape=shape)
    sample = Folder(path=str(tmp_path), mask_orientation="stored").load("a")
    np.testing.assert_array_equal(sample.targets[0].mask, bright(sample))


@pytest.mark.parametrize("masks_are", ["upright", "stored"])
def test_a_mask_with_the_same_tag_needs_no_assumption(tmp_path, masks_are):
    write_pair(tmp_path, "a", orientation=HALF_TURN, mask_orientation=HALF_TURN)
    found = Folder(path=str(tmp_path), mask_orientation=masks_are)
    sample = found.load("a")
    np.testing.assert_array_equal(sample.targets[0].mask, bright(sample))
    assert found.assumptions(["a"]) == ()


def test_a_quarter_turn_is_an_error_with_the_option_that_mends_it(tmp_path):
    write_pair(tmp_path, "a", orientation=QUARTER_TURN)
    found = Folder(path=str(tmp_path))
    assert found.assumptions(["a"]) == ()
    with pytest.raises(
        SampleInvalid, match=r"rotated by 90 degrees.*set mask_orientation='stored'"
    ):
        found.load("a")


def test_ignored_pixels_are_turned_with_their_mask(tmp_path):
    write_pair(tmp_path, "a", orientation=HALF_TURN)
    values = np.zeros((20, 30), dtype=np.uint8)
    values[0, 0] = 255
    values[1, 1] = 1
    Image.fromarray(values).save(tmp_path / "masks" / "a.png")
    found = Folder(path=str(tmp_path), ignore_value=255, mask_orientation="stored")
    (target,) = found.load("a").targets
    assert np.argwhere(target.mask).tolist() == [[18, 28]]
    assert np.argwhere(target.ignore).tolist() == [[19, 29]]


def test_the_fingerprint_of_earlier_runs_is_kept(tmp_path):
    write_pair(tmp_path, "a", orientation=1)
    plain = Folder(path=str(tmp_path))
    assert plain.fingerprint == Folder(path=str(tmp_path), mask_orientation="upright").fingerprint
    assert plain.fingerprint != Folder(path=str(tmp_path), mask_orientation="stored").fingerprint


def test_a_run_records_the_assumption_and_shows_it_whenever_it_is_opened(tmp_path):
    root = tmp_path / "photos"
    write_pair(root, "a", orientation=1)
    write_pair(root, "b", orientation=HALF_TURN)
    dataset = f"folder(path={str(root)!r})"

    def run(limit):
        return segarena.evaluate(
            RULES,
            segmenter="everything",
            dataset=dataset,
            out=tmp_path / "run",
            limit=limit,
            workers=0,
        )

    assert run(1).config.dataset.assumptions == (), "the first photograph is upright"
    grown = run(2)
    (note,) = grown.config.dataset.assumptions
    assert "1 photographs" in note
    assert note in RunFolder.open(tmp_path / "run").notes
    assert note in [finding.message for finding in check_run(tmp_path / "run")]
    # Runs of earlier versions have no such field, and continue.
    earlier = replace(grown.config, dataset=replace(grown.config.dataset, assumptions=()))
    RunFolder.open(tmp_path / "run").write_config(earlier)
    assert run(2).is_complete


def test_published_click_sets_and_one_shot_folders_name_it_too(tmp_path):
    write_pair(tmp_path, "a", orientation=HALF_TURN)
    (tmp_path / "images").rename(tmp_path / "img")
    (tmp_path / "masks").rename(tmp_path / "gt")
    (said,) = davis345(path=str(tmp_path)).assumptions(["a"])
    assert "a.jpg with a.png" in said
    root = tmp_path / "oneshot"
    for name in ("1", "2"):
        write_pair(root, name, orientation=HALF_TURN)
    (root / "masks" / "dog").mkdir()
    for name in ("1", "2"):
        (root / "masks" / f"{name}.png").rename(root / "masks" / "dog" / f"{name}.png")
    found = OneShotFolder(path=str(root))
    (said,) = found.assumptions(found.sample_ids)
    assert "EXIF rotates 2 photographs" in said


def test_frames_of_videos_that_exif_rotates_are_named(tmp_path):
    for name, orientation in (("1", HALF_TURN), ("2", HALF_TURN)):
        write_pair(tmp_path, name, orientation=orientation)
    for folder, other in (("images", "frames"), ("masks", "masks")):
        files = list((tmp_path / folder).iterdir())
        (tmp_path / other / "clip").mkdir(parents=True)
        for file in files:
            file.rename(tmp_path / other / "clip" / file.name)
    found = VideoFolder(path=str(tmp_path))
    (said,) = found.assumptions(found.sample_ids)
    assert "1.jpg with 1.png" in said
    assert said in [finding.message for finding in found.check()]
