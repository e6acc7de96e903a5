"""Samples, prompts and targets of other kinds than images, clicks and single masks find their way through a run."""

import time

import numpy as np
import polars as pl
import pytest

import segarena
import segarena.arrays.rle
from segarena import (
    Benchmark,
    Click,
    ImageSample,
    Lift,
    Prediction,
    Support,
    Target,
    VideoSample,
    VolumeSample,
)
from segarena.engine import encoding_cache
from segarena.engine.plan import make_plan
from segarena.errors import InvalidInput, PluginInvalid
from segarena.roles import Finding, TimeBudget

SHAPE = (3, 6, 8)


class Few:
    """A dataset of given samples."""

    name = "few"
    fingerprint = "few"

    def __init__(self, *samples):
        self.samples = {sample.id: sample for sample in samples}

    @property
    def sample_ids(self):
        return list(self.samples)

    def load(self, sample_id):
        return self.samples[sample_id]

    def check(self):
        return [Finding(is_error=False, message="fine")]


class Once:
    """Clicks one pixel in each of two rounds, with propagation as lift."""

    lift = Lift(spread="propagate")
    corrects_objects = True

    def next(self, turn):
        return [Click((0,) * len(turn.sample.shape))] if turn.round < 3 else None


class Shows:
    """Shows one of two examples, the first for every even target."""

    prompt_kinds = frozenset({"support"})

    def next(self, turn):
        if turn.round > 1:
            return None
        image = np.full((4, 5, 3), int(turn.target.id) % 2, np.uint8)
        return [
            Support(
                ImageSample(id=f"example {turn.target.id}", image=image),
                np.ones((4, 5), dtype=bool),
            )
        ]


class Recorder:
    """Answers with an empty mask, and records its input."""

    def __init__(self):
        self.encoded = []
        self.dialogues = []

    def encode(self, sample):
        self.encoded.append(sample.id)
        return sample

    def predict(self, encoded, dialogues):
        self.dialogues += dialogues
        return [np.zeros(encoded.shape, dtype=bool) for _ in dialogues]


class OneByOne:
    """Simulates a lift: encodes two of the planes on demand."""

    sample_kinds = frozenset({"volume"})

    def __init__(self, *, segmenter):
        self.segmenter = segmenter

    def encode(self, sample):
        return Planes(sample)

    def predict(self, encoded, dialogues):
        encoded.pass_seconds += [0.5, 0.25]
        return [np.zeros(encoded.sample.shape, dtype=bool) for _ in dialogues]


class Planes:
    def __init__(self, sample):
        self.sample = sample
        self.pass_seconds = []


def volume():
    mask = np.zeros(SHAPE, dtype=bool)
    mask[1, 2:4, 3:5] = True
    target = Target(id="liver", mask=mask)
    return VolumeSample(
        id="v", voxels=np.zeros(SHAPE, np.int16), spacing_mm=(5.0, 1.0, 1.0), targets=(target,)
    )


def rules(*, who, **changes):
    return Benchmark(
        **{"name": "b", "users": (who,), "metrics": ("iou",), "rounds": 3, "summary": (), **changes}
    )


VOLUMES = {"who": f"{__file__}:Once", "sample_kind": "volume", "adapter": f"{__file__}:OneByOne"}


def test_a_lift_is_put_around_a_segmenter_that_takes_images_and_its_passes_are_counted(tmp_path):
    folder = segarena.evaluate(
        rules(**VOLUMES),
        segmenter=Recorder(),
        dataset=Few(volume()),
        out=tmp_path / "run",
        name="recorder",
    )
    assert folder.config.counts.failures == 0
    assert folder.config.counts.encodes == 4
    assert folder.timings().filter(pl.col("round") == 0)["predict_s"].to_list() == [0.5, 0.25] * 2
    assert folder.config.benchmark.adapter.name.endswith("test_kinds.py:OneByOne")


def test_a_segmenter_of_volumes_is_left_as_it_is():
    own = Recorder()
    own.sample_kinds = {"volume", "image"}
    assert make_plan(rules(**VOLUMES), segmenter=own, dataset=Few(volume())).cast().segmenter is own


def test_a_segmenter_of_other_samples_is_refused_before_anything_runs():
    with pytest.raises(PluginInvalid, match=r"segments images; b is for videos.*sample_kinds"):
        make_plan(
            rules(who="centre", sample_kind="video"), segmenter=Recorder(), dataset=Few()
        ).cast()
    video = Recorder()
    video.sample_kinds = {"video"}
    with pytest.raises(PluginInvalid, match="segments videos; b is for volumes"):
        make_plan(rules(**VOLUMES), segmenter=video, dataset=Few()).cast()


def test_data_of_another_kind_are_refused_before_anything_runs():
    with pytest.raises(InvalidInput, match="b is for volumes, but dataset demo has images"):
        make_plan(rules(**VOLUMES), segmenter=Recorder(), dataset="demo").cast()
    with pytest.raises(InvalidInput, match="clicks is for images, but dataset phantom has volumes"):
        make_plan("clicks", segmenter=Recorder(), dataset="phantom").cast()


def test_whose_prompts_do_not_fit_is_not_asked_for_weights_first():
    with pytest.raises(
        PluginInvalid, match="clipseg takes examples; user centre of clicks gives clicks"
    ):
        make_plan("clicks", segmenter="clipseg").cast()
    with pytest.raises(PluginInvalid, match="missing a required argument: 'weights'"):
        make_plan("clicks", segmenter="sam").cast()


def test_an_object_that_cannot_play_its_role_is_refused():
    with pytest.raises(PluginInvalid, match="segmenter object has no encode and no predict"):
        make_plan("clicks", segmenter=object()).cast()


def test_the_lift_a_user_means_stands_in_every_dialogue(tmp_path):
    own = Recorder()
    own.sample_kinds = {"volume"}
    segarena.evaluate(rules(**VOLUMES), segmenter=own, dataset=Few(volume()), out=tmp_path / "run")
    assert [dialogue.lift.spread for dialogue in own.dialogues] == ["propagate"] * 2


def test_each_support_image_is_encoded_once_and_counted(tmp_path):
    own = Recorder()
    own.prompt_kinds = {"support"}
    targets = tuple(Target(id=str(number), mask=np.ones((6, 8), dtype=bool)) for number in range(5))
    queries = [
        ImageSample(id=name, image=np.zeros((6, 8, 3), np.uint8), targets=targets)
        for name in ("q", "r")
    ]
    folder = segarena.evaluate(
        rules(who=f"{__file__}:Shows"), segmenter=own, dataset=Few(*queries), out=tmp_path / "run"
    )
    assert own.encoded == ["q", "example 0", "example 1", "r"]
    assert folder.config.counts.encodes == 4
    shown = {
        (dialogue.prompts[0].sample.id, dialogue.prompts[0].encoded.id)
        for dialogue in own.dialogues
    }
    assert shown == {(f"example {number}", f"example {number % 2}") for number in range(5)}


def video(mask):
    frames = [np.zeros((6, 8, 3), np.uint8)] * 3
    return VideoSample(
        id="w", frames=frames, frame_shape=(6, 8), targets=(Target(id="all", mask=mask),)
    )


class Labels:
    """Answers with object 2 everywhere."""

    sample_kinds = frozenset({"video"})

    def encode(self, sample):
        return sample

    def predict(self, encoded, dialogues):
        return [Prediction(np.full(encoded.shape, 2, dtype=np.uint8)) for _ in dialogues]


def test_several_objects_are_judged_by_their_mean_and_kept_one_by_one(tmp_path):
    mask = np.zeros(SHAPE, dtype=np.uint8)
    mask[:, :3], mask[:, 3:] = 1, 2
    folder = segarena.evaluate(
        rules(who=f"{__file__}:Once", sample_kind="video"),
        segmenter=Labels(),
        dataset=Few(video(mask)),
        out=tmp_path / "run",
    )
    assert folder.records()["iou"].to_list() == [0.25, 0.25]  # object 1: 0, object 2: half
    kept = folder.masks().filter(pl.col("round") == 2)
    assert kept["object"].to_list() == [1, 2]
    assert [bool(segarena.arrays.rle.decode_rle(rle, SHAPE).any()) for rle in kept["rle"]] == [
        False,
        True,
    ]


def test_a_user_who_corrects_one_object_is_not_asked_about_several(tmp_path):
    folder = segarena.evaluate(
        rules(who="centre", sample_kind="video"),
        segmenter=Labels(),
        dataset=Few(video(np.full(SHAPE, 2, dtype=np.uint8))),
        out=tmp_path / "run",
    )
    assert (
        "target all has 2 objects that are scored together, but centre corrects only one"
        in folder.records()["failure"][0]
    )


class PerFrame:
    """Returns the number of pixels of each object in each frame."""

    columns = ("objects_seen",)
    judges_objects = True

    def __call__(self, comparison):
        return float(comparison.objects)

    def parts(self, comparison):
        return {"pixels": [one.prediction.sum(axis=(1, 2)) for one in comparison.each()]}


def test_what_metrics_say_of_objects_and_frames_is_a_table_of_its_own(tmp_path):
    mask = np.zeros(SHAPE, dtype=np.uint8)
    mask[:, :3], mask[:, 3:] = 1, 2
    folder = segarena.evaluate(
        rules(
            who=f"{__file__}:Once", sample_kind="video", metrics=(f"{__file__}:PerFrame",), rounds=2
        ),
        segmenter=Labels(),
        dataset=Few(video(mask)),
        out=tmp_path / "run",
    )
    assert folder.records()["objects_seen"].to_list() == [2.0, 2.0]
    parts = folder.parts().filter(pl.col("round") == 2)
    assert parts["object"].to_list() == [1, 2] * 3
    assert parts["frame"].to_list() == [0, 0, 1, 1, 2, 2]
    assert parts["pixels"].to_list() == [0.0, 48.0] * 3


def test_a_run_without_such_metrics_has_no_such_table(tmp_path):
    folder = segarena.evaluate(
        rules(**VOLUMES),
        segmenter=Recorder(),
        dataset=Few(volume()),
        out=tmp_path / "run",
        name="recorder",
    )
    assert folder.parts().is_empty()
    assert not (folder.path / "parts").exists()


class Encodes(Recorder):
    """Takes a moment to encode."""

    sample_kinds = frozenset({"video"})

    def encode(self, sample):
        time.sleep(0.02)
        return super().encode(sample)


@pytest.mark.parametrize(("seconds", "rounds"), [(0.01, 0), (60.0, 2)])
def test_encoding_is_taken_off_the_time_of_a_dialogue(tmp_path, seconds, rounds):
    mask = np.zeros(SHAPE, dtype=bool)
    mask[0, 0, 0] = True
    video = VideoSample(
        id="v",
        frames=[np.zeros((6, 8, 3), np.uint8)] * 3,
        frame_shape=(6, 8),
        targets=(Target(id="t", mask=mask),),
    )
    rules = Benchmark(
        name="timed",
        users=(f"once={__file__}:Once",),
        metrics=("iou",),
        rounds=2,
        summary=(),
        budget=TimeBudget(seconds_per_object=seconds),
        sample_kind="video",
    )
    run = segarena.evaluate(rules, segmenter=Encodes(), dataset=Few(video), out=tmp_path / "run")
    assert run.records().height == rounds
    assert run.config.benchmark.budget == TimeBudget(seconds_per_object=seconds)


class Hesitates:
    """Gives no prompts in the first and the third of four rounds."""

    may_be_silent = True

    def next(self, turn):
        return () if turn.round % 2 else [Click((0, 0))]


class Counts(Recorder):
    """Adds one row to each answer."""

    def predict(self, encoded, dialogues):
        masks = super().predict(encoded, dialogues)
        for mask in masks:
            mask[: len(self.dialogues)] = True
        return masks


def test_a_segmenter_is_not_asked_in_a_silent_round_and_its_last_answer_stands(tmp_path):
    image = ImageSample(
        id="i",
        image=np.zeros((6, 8, 3), np.uint8),
        targets=(Target(id="t", mask=np.ones((6, 8), dtype=bool)),),
    )
    rules = Benchmark(
        name="b", users=(f"u={__file__}:Hesitates",), metrics=("iou",), rounds=4, summary=()
    )
    segmenter = Counts()
    run = segarena.evaluate(rules, segmenter=segmenter, dataset=Few(image), out=tmp_path / "run")
    assert len(segmenter.dialogues) == 2
    assert run.records()["intersection"].to_list() == [0, 8, 8, 16]
    asked = run.timings().filter(pl.col("round") > 0)["predict_s"].to_list()
    assert [seconds == 0 for seconds in asked] == [True, False, True, False]


def test_supports_are_kept_as_far_as_memory_allows(monkeypatch):
    monkeypatch.setattr(encoding_cache, "SUPPORTS_BYTES", 250)
    own = Recorder()
    encoder = encoding_cache.Encoder(own)
    images = [
        ImageSample(id=str(number), image=np.full((5, 6, 3), number, np.uint8))
        for number in range(4)
    ]
    asked = [0, 1, 0, 2, 0, 1, 3]  # two of 90 bytes fit beside each other
    new = [encoder.encode_support(images[number])[1] for number in asked]
    assert new == [True, True, False, True, False, True, True]
    assert own.encoded == ["0", "1", "2", "1", "3"]
