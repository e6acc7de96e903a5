"""Your own folders of frames and masks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from segarena.errors import DatasetMissing, SampleInvalid
from segarena.systems.videos.datasets.video_folder import VideoFolder


def write(root, name, labels, frame_name="img_{}", first=1, frames="frames", masks="masks"):
    for folder in (frames, masks):
        (root / folder / name).mkdir(parents=True, exist_ok=True)
    for number, mask in enumerate(labels, start=first):
        stem = frame_name.format(number)
        Image.fromarray(np.full((*mask.shape, 3), 10 * number, np.uint8)).save(
            root / frames / name / f"{stem}.png"
        )
        Image.fromarray(mask).save(root / masks / name / f"{stem}.png")


def labels_of(frames, *ids):
    labels = np.zeros((frames, 20, 30), np.uint8)
    for place, number in enumerate(ids):
        labels[:, 2 + 4 * place : 5 + 4 * place, 3:9] = number
    return labels


def folder(root, **options):
    return VideoFolder(path=str(root), **options)


def test_every_folder_with_images_is_a_video_and_10_comes_after_9(tmp_path):
    write(tmp_path, "park/dog", labels_of(11, 1, 2))
    write(tmp_path, "cat", labels_of(2, 1))
    data = folder(tmp_path)
    assert data.sample_ids == ("cat", "park/dog")
    assert data.name == tmp_path.name
    sample = data.load("park/dog")
    assert [int(frame[0, 0, 0]) for frame in sample.frames] == [10 * n for n in range(1, 12)]
    assert np.array_equal(sample.targets[0].mask, labels_of(11, 1, 2))
    assert sample.targets[0].ignore is None
    assert folder(tmp_path, sequences=["cat"]).sample_ids == ("cat",)


def test_scribbles_are_taken_when_there_are_any(tmp_path):
    write(tmp_path, "cat", labels_of(2, 1))
    assert folder(tmp_path).load("cat").scribbles == ()
    (tmp_path / "scribbles" / "cat").mkdir(parents=True)
    drawn = {"sequence": "cat", "scribbles": [[{"path": [[0.5, 0.5]], "object_id": 1}], []]}
    (tmp_path / "scribbles" / "cat" / "001.json").write_text(json.dumps(drawn), encoding="utf-8")
    assert folder(tmp_path).load("cat").scribbles == (drawn,)


def test_options_decide_what_values_mean(tmp_path):
    write(tmp_path, "cat", labels_of(2, 1, 3, 200))
    with pytest.raises(
        SampleInvalid, match=r"masks/cat: expected object ids 1 to 3, found \[1, 3, 200\]"
    ):
        folder(tmp_path).load("cat")
    with pytest.raises(SampleInvalid, match=r"expected at most 2 objects, found 3: \[1, 3, 200\]"):
        folder(tmp_path, max_objects=2, renumber=True).load("cat")
    assert folder(tmp_path, renumber=True).load("cat").targets[0].objects == 3
    assert folder(tmp_path, single=True, max_objects=1).load("cat").targets[0].objects == 1
    with pytest.raises(SampleInvalid, match=r"1 to 2, found \[1, 3\]"):
        folder(tmp_path, ignore_value=200).load("cat")
    ignored = folder(tmp_path, ignore_value=200, renumber=True).load("cat").targets[0]
    assert ignored.objects == 2
    assert np.array_equal(ignored.ignore, labels_of(2, 1, 3, 200) == 200)


def test_frames_may_be_a_part_of_a_video_which_the_check_says(tmp_path):
    write(tmp_path, "cat", labels_of(1, 1), frame_name="{:03d}", first=5)
    write(tmp_path, "cat", labels_of(1, 1), frame_name="{:03d}", first=8)
    data = folder(tmp_path)
    assert len(data.load("cat").frames) == 2
    assert any("missing: 006.png, 007.png" in finding.message for finding in data.check())
    assert not any(finding.is_error for finding in data.check())


def test_masks_with_16_bits_that_no_label_can_hold_are_refused(tmp_path):
    write(tmp_path, "cat", labels_of(1, 1))
    Image.fromarray(np.full((20, 30), 300, np.uint16)).save(tmp_path / "masks/cat/img_1.png")
    with pytest.raises(SampleInvalid, match=r"img_1\.png: expected values 0 to 255, got 300"):
        folder(tmp_path).load("cat")


def test_videos_with_the_same_frames_are_named(tmp_path, rng):
    frames = rng.integers(0, 256, (5, 20, 30, 3), dtype=np.uint8)
    black = np.zeros((1, 20, 30, 3), np.uint8)
    videos = {
        "a": [*frames[:3], *black],
        "b": [*frames[:3], *black],
        "c": [*black, *frames[1:]],
        "d": [*black, *black],
    }
    for name, pixels in videos.items():
        write(tmp_path, name, labels_of(len(pixels), 1))
        for number, frame in enumerate(pixels, start=1):
            Image.fromarray(frame).save(tmp_path / "frames" / name / f"img_{number}.png")
    messages = [finding.message for finding in folder(tmp_path).check()]
    copies, shared = (message for message in messages if "more than once" in message)
    assert copies.startswith("samples with the same frames as an earlier one (1)")
    assert "b = a; remove the copies" in copies
    assert shared.startswith("pairs of videos with frames in common (1)")
    assert "2 frames of c in a" in shared


def test_other_folders_and_names(tmp_path):
    write(tmp_path, "cat", labels_of(1, 1), frames="rgb", masks="gt")
    assert folder(tmp_path, frames="rgb", masks="gt", name="mine").name == "mine"
    with pytest.raises(DatasetMissing, match="frames"):
        folder(tmp_path)
    (tmp_path / "frames").mkdir()
    Image.new("L", (4, 4)).save(tmp_path / "frames" / "1.png")  # of no video
    with pytest.raises(DatasetMissing, match="a folder with images for each video, found none"):
        folder(tmp_path, masks="gt")


def test_a_video_without_masks_is_named(tmp_path):
    write(tmp_path, "cat", labels_of(1, 1))
    write(tmp_path, "dog", labels_of(1, 1))
    (tmp_path / "masks/dog/img_1.png").unlink()
    data = folder(tmp_path)
    with pytest.raises(
        SampleInvalid, match=r"'dog'.*expected a mask for every frame, found none for img_1\.png"
    ):
        data.load("dog")
    (told,) = [finding.message for finding in data.check() if finding.is_error]
    assert told.startswith("sample 'dog'")
