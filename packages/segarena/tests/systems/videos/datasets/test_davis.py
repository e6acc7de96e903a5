"""DAVIS in its downloaded layout, generated here: the loaded data and the error messages."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from PIL import Image

from segarena.errors import DatasetMissing, SampleInvalid
from segarena.systems.videos.datasets.davis import PUBLISHED, Davis

SHAPE = (48, 60)


def labels_of(frames=4, objects=2):
    """Objects that move, and a strip of void in the first frame."""
    labels = np.zeros((frames, *SHAPE), np.uint8)
    for frame in range(frames):
        for number in range(1, objects + 1):
            labels[frame, 10 * number : 10 * number + 8, 5 + frame : 15 + frame] = number
    labels[0, 0] = 255
    return labels


def write_mask(path, labels, palette=True):
    image = Image.fromarray(labels)
    if palette:
        image.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0, *[77] * (253 * 3)])
    image.save(path)


def write_sequence(root, name, labels, resolution="480p", palette=True):
    """Frames whose red value is their number."""
    for kind in ("JPEGImages", "Annotations"):
        (root / kind / resolution / name).mkdir(parents=True, exist_ok=True)
    for frame, mask in enumerate(labels):
        image = np.full((*mask.shape, 3), (40 * frame, 90, 90), np.uint8)
        image[..., 1] = np.random.default_rng(frame).integers(60, 120, mask.shape)
        Image.fromarray(image).save(
            root / "JPEGImages" / resolution / name / f"{frame:05d}.jpg", quality=95
        )
        write_mask(root / "Annotations" / resolution / name / f"{frame:05d}.png", mask, palette)


def scribbles_of(name, frames=4, object_id=1, frame=1):
    drawn = [[] for _ in range(frames)]
    drawn[frame] = [
        {"path": [[0.1, 0.2], [0.3, 0.2]], "object_id": object_id, "start_time": 0, "end_time": 900}
    ]
    return {"sequence": name, "scribbles": drawn}


def write_scribbles(root, name, number=1, **options):
    folder = root / "Scribbles" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{number:03d}.json").write_text(
        json.dumps(scribbles_of(name, **options)), encoding="utf-8"
    )


def write_list(root, subset, names, folder="2017"):
    (root / "ImageSets" / folder).mkdir(parents=True, exist_ok=True)
    (root / "ImageSets" / folder / f"{subset}.txt").write_text(
        "".join(f"{name}\n" for name in names), encoding="utf-8"
    )


@pytest.fixture
def root(tmp_path):
    write_sequence(tmp_path, "soapbox", labels_of(objects=3))
    write_sequence(tmp_path, "dogs-jump", labels_of())
    write_sequence(tmp_path, "bear", labels_of(objects=1))
    write_list(tmp_path, "val", ["soapbox", "dogs-jump"])
    write_list(tmp_path, "train", ["bear"])
    write_scribbles(tmp_path, "dogs-jump", 2, frame=0)
    write_scribbles(tmp_path, "dogs-jump", 1)
    return tmp_path


def davis(root, **options):
    return Davis(path=str(root), **options)


def test_a_sequence_is_a_sample_with_labels_of_all_objects(root):
    sample = davis(root).load("dogs-jump")
    (target,) = sample.targets
    assert target.id == "objects"
    assert target.objects == 2
    assert target.mask.dtype == np.uint8
    expected = labels_of()
    assert np.array_equal(target.ignore, expected == 255)
    assert np.array_equal(target.mask, np.where(expected == 255, 0, expected))
    assert sample.shape == (4, *SHAPE)
    assert [round(int(frame[..., 0].mean()) / 40) for frame in sample.frames] == [0, 1, 2, 3]


def test_scribbles_are_those_of_each_person_in_order(root):
    sample = davis(root).load("dogs-jump")
    assert [
        [bool(lines) for lines in drawn["scribbles"]].index(True) for drawn in sample.scribbles
    ] == [1, 0]
    assert sample.scribbles[0] == scribbles_of("dogs-jump")
    assert davis(root).load("soapbox").scribbles == ()


def test_subsets_are_what_the_lists_say_in_order_of_names(root):
    assert davis(root).sample_ids == ("dogs-jump", "soapbox")
    assert davis(root, subset="train").sample_ids == ("bear",)
    assert davis(root, subset="trainval").sample_ids == ("bear", "dogs-jump", "soapbox")
    assert davis(root, subset="all").sample_ids == ("bear", "dogs-jump", "soapbox")
    assert davis(root, subset=["soapbox", "bear"]).sample_ids == ("soapbox", "bear")
    assert davis(root, sequences=["soapbox"]).sample_ids == ("soapbox",)


def test_an_unknown_sequence_or_a_missing_list_says_what_to_do(root):
    with pytest.raises(DatasetMissing, match="the sequences bear"):
        davis(root, sequences=["bear"])
    with pytest.raises(DatasetMissing, match="subset='all'"):
        davis(root, subset="test-dev")
    with pytest.raises(DatasetMissing, match="JPEGImages"):
        davis(root / "elsewhere")


def test_another_resolution_is_another_folder(root):
    write_sequence(root, "bear", labels_of(), resolution="Full-Resolution")
    assert (
        davis(root, subset="train", resolution="Full-Resolution").load("bear").targets[0].objects
        == 2
    )


def test_in_2016_all_objects_are_one(root):
    write_list(root, "val", ["soapbox"], folder="2016")
    write_scribbles(root, "soapbox", object_id=3)
    sample = davis(root, year=2016).load("soapbox")
    assert sample.targets[0].objects == 1
    expected = labels_of(objects=3)
    assert np.array_equal(sample.targets[0].mask, (expected > 0) & (expected < 255))
    assert np.array_equal(sample.targets[0].ignore, expected == 255)
    assert sample.scribbles[0]["scribbles"][1][0]["object_id"] == 1


def test_the_release_of_2016_has_masks_of_0_and_255_and_lists_of_files(tmp_path):
    labels = np.where(labels_of(objects=1) == 1, 255, 0).astype(np.uint8)
    write_sequence(tmp_path, "bear", labels, palette=False)
    lines = [
        f"/JPEGImages/480p/bear/{n:05d}.jpg /Annotations/480p/bear/{n:05d}.png" for n in range(4)
    ]
    write_list(tmp_path, "train", lines, folder="480p")
    data = davis(tmp_path, subset="train", year=2016)
    assert data.sample_ids == ("bear",)
    (target,) = data.load("bear").targets
    assert target.ignore is None
    assert np.array_equal(target.mask, labels == 255)


def test_test_dev_has_frames_and_no_target_and_says_who_judges(root):
    write_list(root, "test-dev", ["bear"])
    for path in sorted((root / "Annotations/480p/bear").iterdir())[1:]:
        path.unlink()  # as downloaded: the first mask only
    data = davis(root, subset="test-dev")
    sample = data.load("bear")
    assert sample.targets == ()
    assert len(sample.frames) == 4
    assert any("server" in finding.message and not finding.is_error for finding in data.check())


def messages(data, is_error):
    return [finding.message for finding in data.check() if finding.is_error == is_error]


def test_check_tells_counts_and_where_they_differ_from_the_published_ones(root):
    data = davis(root)
    assert messages(data, is_error=True) == []
    told = messages(data, is_error=False)
    assert "davis: 2 sequences, 8 frames, 5 objects, 2 scribble files" in told
    assert "davis: expected 1999 frames as published, found 8" in told
    assert "videos without scribbles (1): soapbox" in told
    assert "davis: 2 targets in 2 readable videos; image sides 48 to 60 pixels" in told
    assert not any(
        "published" in text for text in messages(davis(root, sequences=["soapbox"]), is_error=False)
    )


def test_a_user_s_videos_in_the_layout_are_not_compared_with_published_counts(tmp_path):
    write_sequence(tmp_path, "cell-7", labels_of())
    write_list(tmp_path, "val", ["cell-7"])
    assert not any("published" in text for text in messages(davis(tmp_path), is_error=False))


def test_published_counts_add_up():
    assert PUBLISHED["trainval"] == tuple(
        a + b for a, b in zip(PUBLISHED["train"], PUBLISHED["val"], strict=True)
    )


JPEG, PNG = "JPEGImages/480p/soapbox/{}.jpg", "Annotations/480p/soapbox/{}.png"


def remove(name):
    return lambda root: (root / name).unlink()


def shrink(name):
    return lambda root: (
        Image.open(root / name).resize((30, 24), Image.Resampling.NEAREST).save(root / name)
    )


def truncate(name):
    return lambda root: (root / name).write_bytes((root / name).read_bytes()[:60])


def with_ids(*ids):
    def write(root):
        labels = labels_of(objects=len(ids))
        write_sequence(
            root, "soapbox", np.array([0, *ids, *[0] * (255 - len(ids))], np.uint8)[labels]
        )

    return write


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (
            remove(JPEG.format("00002")),
            r"soapbox: expected frames without gaps, found none for 00002\.jpg",
        ),
        (
            remove(PNG.format("00001")),
            r"expected a mask for every frame, found none for 00001\.jpg",
        ),
        (
            remove(JPEG.format("00003")),
            r"expected exactly one mask per frame, also found 00003\.png",
        ),
        (
            shrink(JPEG.format("00001")),
            r"00001\.jpg: expected the size of 00000\.jpg, 60 x 48 pixels, got 30 x 24",
        ),
        (
            shrink(PNG.format("00001")),
            r"00001\.png: expected the size of the frames, 60 x 48 pixels, got 30 x 24",
        ),
        (truncate(PNG.format("00002")), r"00002\.png: expected a readable image file"),
        (truncate(JPEG.format("00002")), r"00002\.jpg: expected a readable image file"),
        (with_ids(1, 4), r"soapbox: expected object ids 1 to 2, found \[1, 4\]; set renumber=True"),
        (with_ids(), r"soapbox: expected at least one object in the masks, found none"),
        (
            lambda root: write_scribbles(root, "soapbox", object_id=4),
            r"001\.json.*'object_id'.*1 to 3, got 4",
        ),
        (
            lambda root: write_scribbles(root, "soapbox", frames=5),
            r"001\.json.*each of 4 frames, got 5",
        ),
        (lambda root: write_list(root, "val", ["soapbox", "cat"]), None),
    ],
)
def test_a_damaged_sequence_is_refused_by_name_and_the_others_stay(root, damage, told):
    damage(root)
    data = davis(root)
    if told is None:
        with pytest.raises(SampleInvalid, match="cat: expected frames without gaps, found none"):
            data.load("cat")
        return
    with pytest.raises(SampleInvalid, match=rf"(?s)'soapbox'.*{told}"):
        data.load("soapbox")
    assert data.load("dogs-jump").targets
    assert len(messages(data, is_error=True)) == 1


def test_ids_with_gaps_are_numbered_anew_on_request(root):
    with_ids(2, 7)(root)
    write_scribbles(root, "soapbox", object_id=7)
    sample = davis(root, renumber=True).load("soapbox")
    assert np.array_equal(np.unique(sample.targets[0].mask), [0, 1, 2])
    assert sample.scribbles[0]["scribbles"][1][0]["object_id"] == 2


def test_a_frame_cut_short_after_its_header_is_found_by_the_check_and_when_it_is_looked_at(root):
    path = root / JPEG.format("00002")
    path.write_bytes(path.read_bytes()[:-80])
    data = davis(root)
    frames = data.load("soapbox").frames
    assert frames[1].shape == (*SHAPE, 3)
    with pytest.raises(
        SampleInvalid, match=r"'soapbox'.*00002\.jpg: expected a readable image file"
    ):
        frames[2]
    (error,) = messages(data, is_error=True)
    assert "00002.jpg" in error


def test_frames_are_decoded_when_asked_for_and_few_are_kept(root):
    write_sequence(root, "bear", np.concatenate([labels_of()] * 5))
    frames = davis(root, subset="train").load("bear").frames
    assert not frames._kept
    assert frames[-1] is frames[19]
    assert len(frames[3:6]) == 3
    for _ in frames:
        assert len(frames._kept) <= 8
    assert not pickle.loads(pickle.dumps(frames))._kept
    with pytest.raises(IndexError):
        frames[20]
    with pytest.raises(ValueError, match="read-only"):
        frames[0][0] = 1


def test_the_fingerprint_changes_with_rules_and_files(root):
    first = davis(root).fingerprint
    assert davis(root).fingerprint == first
    assert davis(root, renumber=True).fingerprint != first
    write_scribbles(root, "soapbox")
    assert davis(root).fingerprint != first
