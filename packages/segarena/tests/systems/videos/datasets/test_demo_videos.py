"""Generated videos: reproducible, and with all typical difficulties of videos."""

from __future__ import annotations

import hashlib
import pickle

import numpy as np
import pytest

from segarena.errors import PluginInvalid, SampleInvalid
from segarena.systems.videos.datasets.demo_videos import DemoVideos

IDS = ["crossing", "leaving", "alike", "photographs"]


@pytest.fixture(scope="module")
def videos():
    made = DemoVideos()
    return {sample_id: made.load(sample_id) for sample_id in made.sample_ids}


def areas(sample):
    """Pixels of each object in each frame, (objects, frames)."""
    labels = sample.targets[0].mask
    return np.stack(
        [(labels == number).sum(axis=(1, 2)) for number in range(1, sample.targets[0].objects + 1)]
    )


@pytest.mark.long
def test_four_videos_of_labels_judged_together(videos):
    assert list(videos) == IDS
    for sample in videos.values():
        (target,) = sample.targets
        assert target.id == "objects"
        assert target.mask.dtype == np.uint8
        assert target.ignore is None
        assert sample.shape == target.mask.shape == (24, 120, 200)
        assert sample.frames[0].dtype == np.uint8
        assert set(np.unique(target.mask)) == set(range(target.objects + 1))
    assert [sample.targets[0].objects for sample in videos.values()] == [2, 3, 3, 3]


def test_the_same_options_give_the_same_pixels(videos):
    def digest(sample):
        return hashlib.sha256(
            b"".join(map(bytes, sample.frames)) + sample.targets[0].mask.tobytes()
        ).hexdigest()

    again = pickle.loads(pickle.dumps(DemoVideos())).load("leaving")
    assert digest(again) == digest(videos["leaving"])
    other = DemoVideos(seed=1).load("leaving")
    assert digest(other) != digest(videos["leaving"])
    assert DemoVideos(seed=1).fingerprint != DemoVideos().fingerprint


def test_every_first_frame_shows_every_object(videos):
    for sample in videos.values():
        assert areas(sample)[:, 0].min() > 200


def test_one_object_leaves_and_returns(videos):
    yellow = areas(videos["leaving"])[0]
    assert (yellow == 0).any()
    assert yellow[-1] == pytest.approx(yellow[0], rel=0.1)


def test_objects_cover_one_another(videos):
    assert areas(videos["crossing"])[0].min() < 0.6 * areas(videos["crossing"])[0][[0, -1]].min()
    assert areas(videos["alike"])[1].min() < 100 < areas(videos["alike"])[1][-1]
    assert areas(videos["photographs"])[1].min() < 0.3 * areas(videos["photographs"])[1][0]


def test_objects_grow_and_bend(videos):
    near = areas(videos["leaving"])[1]
    assert near[-1] > 3 * near[0]
    labels = videos["alike"].targets[0].mask == 1
    ratios = [np.ptp(np.nonzero(mask)[0]) / np.ptp(np.nonzero(mask)[1]) for mask in labels]
    assert max(ratios) > 1.3 * min(ratios)


def test_the_camera_moves_and_no_mask_stands_still(videos):
    for sample in videos.values():
        labels = sample.targets[0].mask
        background = (labels[0] == 0) & (labels[-1] == 0)
        step = np.abs(sample.frames[0].astype(int) - sample.frames[-1].astype(int))[
            background
        ].mean()
        assert step > 10
        for number in range(1, sample.targets[0].objects + 1):
            masks = labels == number
            overlaps = [(masks[0] & mask).sum() / (masks[0] | mask).sum() for mask in masks]
            assert min(overlaps) < 0.4


@pytest.mark.long
def test_scenes_are_the_same_in_any_size_and_with_any_number_of_frames(videos):
    large = DemoVideos(size=(240, 400), frames=47).load("crossing")
    assert large.shape == (47, 240, 400)
    small = large.targets[0].mask[::2, ::2, ::2]
    assert (small == videos["crossing"].targets[0].mask).mean() > 0.98


@pytest.mark.parametrize("options", [{"size": (47, 200)}, {"size": (120,)}, {"frames": 1}])
def test_impossible_options_are_refused(options):
    with pytest.raises(PluginInvalid, match="expected"):
        DemoVideos(**options)


def test_an_unknown_sample_is_named_with_those_there_are():
    with pytest.raises(SampleInvalid, match="crossing, leaving, alike, photographs"):
        DemoVideos().load("train")


def test_check_tells_the_counts():
    (finding,) = DemoVideos(frames=2).check()
    assert finding.message == "demo-videos: 11 objects in 4 videos of 2 frames of 120 x 200 pixels"
