"""The video segmenters without weights: scribbles in a few frames give masks of all frames."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from segarena.dialogue import Dialogue, as_prediction
from segarena.errors import InvalidImage, InvalidInput, InvalidPrompt, SegmenterError
from segarena.prompts import Box, Click, Scribble
from segarena.registry import build
from segarena.samples import ImageSample, VideoSample
from segarena.systems.videos.datasets.demo_videos import DemoVideos

NAMES = ["colour-flow", "video-walk"]
FRAMES = 16


@cache
def video(sample_id):
    return DemoVideos(size=(48, 80), frames=FRAMES).load(sample_id)


@cache
def encoded(name, sample_id):
    segmenter = build("segmenter", name)
    return segmenter, segmenter.encode(video(sample_id))


def line_in(error, frame, label):
    """The longest horizontal run of an error, the first of equally long ones, without its ends; none if it is short."""
    padded = np.pad(error, ((0, 0), (1, 1))).astype(int)
    starts, stops = (np.argwhere(np.diff(padded, axis=1) == step) for step in (1, -1))
    lengths = stops[:, 1] - starts[:, 1]
    if lengths.max(initial=0) < 3:
        return []
    row, first = starts[lengths.argmax()]
    return [
        Scribble(
            ((frame, row, first + 1), (frame, row, first + lengths.max() - 2)), object_id=label
        )
    ]


def correct(prediction, target, frame):
    """Return a line in the error of each label in one frame."""
    wrong = prediction[frame] != target[frame]
    lines = [
        line_in(wrong & (target[frame] == label), frame, label) for label in range(target.max() + 1)
    ]
    return tuple(line for found in lines for line in found)


def jaccards(prediction, target):
    """J of each frame, mean over objects."""
    values = np.ones((target.max(), len(target)))
    for number, frame in np.ndindex(values.shape):
        one, other = prediction[frame] == number + 1, target[frame] == number + 1
        if (one | other).any():
            values[number, frame] = (one & other).sum() / (one | other).sum()
    return values.mean(axis=0)


def converse(name, sample_id, rounds):
    """Return the dialogue, the labels after each round, and the frames with lines: each time the worst one without."""
    segmenter, seen = encoded(name, sample_id)
    target = video(sample_id).targets[0].mask
    dialogue, answers, frames = Dialogue(), [], [0]
    prompts = correct(np.full_like(target, 254), target, 0)
    for number in range(rounds):
        if number:
            order = np.argsort(jaccards(answers[-1], target), kind="stable")
            frames.append(int(next(frame for frame in order if frame not in frames)))
            prompts = correct(answers[-1], target, frames[-1])
        dialogue = dialogue.ask(prompts)
        prediction = as_prediction(
            segmenter.predict(seen, [dialogue])[0], target.shape, objects=int(target.max())
        )
        dialogue = dialogue.answer(prediction)
        answers.append(prediction.mask)
    return dialogue, answers, frames


def copied(target, frames):
    """Return the ground truth of the nearest frame with lines, without motion."""
    nearest = [min(frames, key=lambda other: abs(other - frame)) for frame in range(len(target))]
    return target[nearest]


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_more_lines_give_better_masks_and_better_than_masks_that_stand_still(name):
    ours, still = [], []
    for sample_id in DemoVideos().sample_ids:
        target = video(sample_id).targets[0].mask
        _, answers, frames = converse(name, sample_id, 5)
        ours.append([jaccards(answer, target).mean() for answer in answers])
        still.append([jaccards(copied(target, frames[: n + 1]), target).mean() for n in range(5)])
    rounds = np.mean(ours, axis=0)
    assert rounds[4] > rounds[2] > rounds[0]
    assert rounds[4] > 0.7
    assert (rounds > np.mean(still, axis=0) + 0.1).all()


@pytest.mark.parametrize("name", NAMES)
def test_lines_change_frames_up_to_the_next_ones_with_lines_and_no_others(name):
    segmenter, seen = encoded(name, "alike")
    target = video("alike").targets[0].mask
    dialogue = Dialogue()
    before = np.zeros_like(target)
    for frame in (3, 11, 7):
        dialogue = dialogue.ask(
            correct(before if frame == 7 else np.full_like(target, 254), target, frame)
        )
        prediction = segmenter.predict(seen, [dialogue])[0]
        dialogue = dialogue.answer(prediction)
        before, last = prediction.mask, before
    changed = (before != last).any(axis=(1, 2))
    assert changed[7]
    assert changed[4:11].sum() >= 3
    assert not changed[:4].any()
    assert not changed[11:].any()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_marked_is_what_was_said(name):
    dialogue, answers, frames = converse(name, "crossing", 2)
    for prompts, answer, frame in zip(dialogue.rounds, answers, frames, strict=True):
        assert prompts
        for prompt in prompts:
            (_, row, first), (_, _, last) = prompt.points
            assert (answer[frame, row, first : last + 1] == prompt.object_id).all()


@pytest.mark.parametrize("name", NAMES)
def test_rounds_without_a_prediction_are_gone_through_in_order(name):
    segmenter, seen = encoded(name, "crossing")
    dialogue, answers, _ = converse(name, "crossing", 3)
    (again,) = segmenter.predict(seen, [Dialogue(dialogue.rounds)])
    assert np.array_equal(again.mask, answers[-1])


@pytest.mark.parametrize("name", NAMES)
def test_the_same_video_gives_the_same_masks_whatever_came_before(name):
    other = build("segmenter", name)
    other.encode(video("alike"))
    dialogue, answers, _ = converse(name, "crossing", 1)
    (again,) = other.predict(other.encode(video("crossing")), [Dialogue(dialogue.rounds)])
    assert np.array_equal(again.mask, answers[0])


@pytest.mark.parametrize("name", NAMES)
def test_large_frames_are_worked_on_smaller_and_answered_in_full(name):
    segmenter = build("segmenter", f"{name}(work_px=4000)")
    sample = video("crossing")
    target = sample.targets[0].mask
    prompts = correct(np.full_like(target, 254), target, 0)
    (answer,) = segmenter.predict(segmenter.encode(sample), [Dialogue((prompts,))])
    assert answer.mask.shape == target.shape
    assert jaccards(answer.mask, target)[0] > 0.7
    assert jaccards(answer.mask, target)[:4].mean() > 0.6


@pytest.mark.parametrize("name", NAMES)
def test_one_object_gives_bool_and_several_give_labels_by_their_ids(name):
    segmenter, seen = encoded(name, "crossing")
    target = video("crossing").targets[0].mask
    one, two = (correct(np.full_like(target, 254), target, 0)[label] for label in (1, 2))
    (alone,) = segmenter.predict(seen, [Dialogue(((one,),))])
    assert alone.mask.dtype == np.bool_
    assert alone.mask[0].sum() > 100
    seventh = Scribble(two.points, object_id=7)
    (several,) = segmenter.predict(seen, [Dialogue(((one, seventh),))])
    assert several.mask.dtype == np.uint8
    assert set(np.unique(several.mask)) == {0, 1, 7}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_background_gives_nothing(name):
    segmenter, seen = encoded(name, "crossing")
    prompts = (Click((0, 3, 3), object_id=0), Click((2, 30, 30), is_positive=False))
    (answer,) = segmenter.predict(seen, [Dialogue((prompts,))])
    assert answer.mask.dtype == np.bool_
    assert not answer.mask.any()


@pytest.mark.parametrize("name", NAMES)
def test_a_video_of_one_frame_is_an_image(name):
    sample = video("crossing")
    target = sample.targets[0].mask[:1]
    single = VideoSample(id="single", frames=sample.frames[:1], frame_shape=sample.frame_shape)
    segmenter = build("segmenter", name)
    (answer,) = segmenter.predict(
        segmenter.encode(single), [Dialogue((correct(np.full_like(target, 254), target, 0),))]
    )
    assert jaccards(answer.mask, target)[0] > 0.8


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("prompts", "error", "told"),
    [
        ((), SegmenterError, "round 1 has no prompts"),
        ((Box((0, 1, 1), (1, 5, 5)),), SegmenterError, "got 'box'"),
        ((Scribble(((0, 1, 1), (1, 5, 5))),), SegmenterError, "one frame"),
        ((Scribble(((0.5, 1, 1), (0.5, 5, 5))),), SegmenterError, "one frame"),
        ((Click((0, 1, 1), object_id=256),), InvalidPrompt, "1 to 255"),
        ((Click((FRAMES, 1, 1)),), InvalidPrompt, "outside"),
    ],
)
def test_prompts_that_cannot_be_taken_are_named(name, prompts, error, told):
    segmenter, seen = encoded(name, "crossing")
    with pytest.raises(error, match=told):
        segmenter.predict(seen, [Dialogue((prompts,))])


@pytest.mark.parametrize("name", NAMES)
def test_samples_that_are_no_videos_are_named(name):
    segmenter = build("segmenter", name)
    image = np.zeros((8, 8, 3), np.uint8)
    with pytest.raises(SegmenterError, match="ImageSample"):
        segmenter.encode(ImageSample(id="photograph", image=image))
    with pytest.raises(InvalidInput, match="frames with pixels"):
        segmenter.encode(VideoSample(id="empty", frames=(), frame_shape=(8, 8)))
    with pytest.raises(InvalidImage, match="frame 1"):
        segmenter.encode(VideoSample(id="uneven", frames=(image, image[:4]), frame_shape=(8, 8)))
