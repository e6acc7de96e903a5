"""Behaviour of the three segmenters without weights, beyond that of every segmenter."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from segarena import registry
from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.errors import SegmenterError
from segarena.prompts import Box, Click, Lasso, MaskPrompt, Scribble
from segarena.samples import ImageSample, VideoSample, VolumeSample

NAMES = ["graph", "grabcut", "watershed"]
SHAPE = (60, 80)

FINGERPRINTS = """
import sys
sys.path.insert(0, sys.argv[1])
from test_baselines import fingerprints
print(fingerprints())
"""


def photograph(seed=0):
    """A bright textured disc, a dark one and a stripe on noise: structure without a file."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    image = rng.normal((90, 110, 100), 12, (*SHAPE, 3))
    image[(rows - 25) ** 2 + (columns - 25) ** 2 < 15**2] += (90, 20, -30)
    image[(rows - 35) ** 2 + (columns - 60) ** 2 < 12**2] -= (60, 60, 20)
    image[50:54] += 60
    return ImageSample(id=f"photograph{seed}", image=image.clip(0, 255).astype(np.uint8))


CLICKS = [
    Click((25, 25), True),
    Click((35, 60), False),
    Click((52, 10), False),
    Click((14, 25), True),
    Click((0, 79), False),
]


def conversation(segmenter, sample, clicks=CLICKS):
    """The predictions of one dialogue, a click per round."""
    encoded = segmenter.encode(sample)
    dialogue, predictions = Dialogue(), []
    for click in clicks:
        dialogue = dialogue.ask((click,))
        prediction = as_prediction(segmenter.predict(encoded, [dialogue])[0], sample.shape)
        dialogue = dialogue.answer(prediction)
        predictions.append(prediction)
    return predictions


def fingerprints():
    """Identification of the last mask of each segmenter."""
    masks = [
        conversation(registry.build("segmenter", name), photograph())[-1].mask for name in NAMES
    ]
    return [hashlib.sha256(mask.tobytes()).hexdigest() for mask in masks]


def answer(segmenter, image, *prompts, previous=None):
    sample = ImageSample(id="x", image=image)
    dialogue = Dialogue(rounds=(prompts,), previous=previous)
    return as_prediction(
        segmenter.predict(segmenter.encode(sample), [dialogue])[0], sample.shape
    ).mask


def flat_halves(height=40, width=60, at=31):
    image = np.full((height, width, 3), (200, 40, 40), np.uint8)
    image[:, at:] = (30, 60, 190)
    return image


@pytest.fixture(params=NAMES)
def segmenter(request):
    return registry.build("segmenter", request.param)


def test_masks_are_bool_and_of_the_image_shape(segmenter):
    for prediction in conversation(segmenter, photograph()):
        assert prediction.mask.dtype == np.bool_
        assert prediction.mask.shape == SHAPE


def test_a_batch_gives_what_single_calls_give_in_any_order(segmenter):
    sample = photograph()
    encoded = segmenter.encode(sample)
    first = segmenter.predict(encoded, [Dialogue().ask((CLICKS[0],))])[0]
    dialogues = [
        Dialogue().ask((CLICKS[0],)),
        Dialogue().ask((CLICKS[0],)).answer(first).ask((CLICKS[1],)),
        Dialogue().ask((Click((35, 60)),)),
        Dialogue().ask((CLICKS[3], CLICKS[1])),
        Dialogue(),
    ]
    singly = [segmenter.predict(encoded, [dialogue])[0].mask for dialogue in dialogues]
    together = segmenter.predict(encoded, dialogues)
    backwards = segmenter.predict(encoded, dialogues[::-1])[::-1]
    for alone, batched, reversed_ in zip(singly, together, backwards, strict=True):
        assert np.array_equal(alone, batched.mask)
        assert np.array_equal(alone, reversed_.mask)


@pytest.mark.long
def test_another_process_gives_the_same_masks():
    command = [sys.executable, "-c", FINGERPRINTS, str(Path(__file__).parent)]
    there = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert there == str(fingerprints())


def test_predicting_changes_neither_dialogue_nor_previous_mask(segmenter):
    sample = photograph()
    previous = Prediction(mask=np.zeros(SHAPE, bool))
    previous.mask[10:40, 10:40] = True
    before = previous.mask.copy()
    segmenter.predict(
        segmenter.encode(sample), [Dialogue((tuple(CLICKS[:1]), tuple(CLICKS[1:3])), previous)]
    )
    assert np.array_equal(previous.mask, before)


def test_every_click_and_its_neighbours_are_honoured(segmenter):
    for count, prediction in enumerate(conversation(segmenter, photograph()), 1):
        for click in CLICKS[:count]:
            row, column = click.position
            near = prediction.mask[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2]
            assert (near == click.is_positive).all()


def test_close_clicks_of_both_kinds_are_both_honoured(segmenter):
    clicks = [Click((30, 40)), Click((30, 42), is_positive=False), Click((31, 41))]
    mask = answer(segmenter, photograph().image, *clicks)
    assert [bool(mask[click.position]) for click in clicks] == [True, False, True]


def test_of_two_clicks_on_one_pixel_the_later_counts(segmenter):
    mask = answer(
        segmenter,
        photograph().image,
        Click((25, 25)),
        Click((30, 30)),
        Click((25, 25), is_positive=False),
    )
    assert not mask[25, 25]


def test_one_click_segments_something_local(segmenter):
    mask = conversation(segmenter, photograph(), CLICKS[:1])[0].mask
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    disc = (rows - 25) ** 2 + (columns - 25) ** 2 < 15**2
    assert (mask & disc).sum() / (mask | disc).sum() > 0.7


# GrabCut is not among them: it moves the border of its guess a few pixels per round, wherever colours would allow more.
@pytest.mark.parametrize("segmenter", ["graph", "watershed"], indirect=True)
@pytest.mark.parametrize("at", [31, 17])
def test_two_flat_colours_are_separated_exactly_by_one_click_on_each(segmenter, at):
    mask = answer(segmenter, flat_halves(at=at), Click((20, 8)), Click((20, 52), is_positive=False))
    assert mask[:, :at].all()
    assert not mask[:, at:].any()


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 9), (9, 1), (2, 2), (1, 700), (3, 300), (5, 5), (17, 16)]
)
def test_tiny_and_thin_images_are_segmented(segmenter, shape):
    image = np.random.default_rng(0).integers(0, 256, (*shape, 3)).astype(np.uint8)
    last = (shape[0] - 1, shape[1] - 1)
    assert answer(segmenter, image, Click((0, 0)))[0, 0]
    mask = answer(segmenter, image, Click((0, 0)), Click(last, is_positive=False))
    assert not mask[last]


@pytest.mark.parametrize("level", [0, 128, 255])
def test_constant_images_are_segmented(segmenter, level):
    image = np.full((50, 70, 3), level, np.uint8)
    mask = answer(segmenter, image, Click((10, 10)), Click((40, 60), is_positive=False))
    assert mask[10, 10]
    assert not mask[40, 60]


def test_grey_images_are_segmented(segmenter):
    grey = photograph().image.mean(axis=2).astype(np.uint8)
    assert answer(segmenter, np.repeat(grey[:, :, None], 3, axis=2), Click((25, 25)))[25, 25]


def test_clicks_in_all_corners_are_honoured(segmenter):
    corners = [(0, 0), (0, SHAPE[1] - 1), (SHAPE[0] - 1, 0), (SHAPE[0] - 1, SHAPE[1] - 1)]
    for is_positive in (True, False):
        mask = answer(
            segmenter,
            photograph().image,
            Click((30, 40)),
            *(Click(corner, is_positive) for corner in corners),
        )
        assert [bool(mask[corner]) for corner in corners] == [is_positive] * 4


def test_only_negative_clicks_and_no_prompts_give_nothing(segmenter):
    assert not answer(segmenter, photograph().image, Click((25, 25), is_positive=False)).any()
    assert not answer(segmenter, photograph().image).any()


def test_a_full_and_an_empty_previous_mask_are_taken(segmenter):
    for value in (False, True):
        previous = Prediction(mask=np.full(SHAPE, value))
        mask = answer(segmenter, photograph().image, *CLICKS[:2], previous=previous)
        assert mask[25, 25]
        assert not mask[35, 60]


def test_several_hundred_clicks_are_honoured(segmenter):
    rng = np.random.default_rng(0)
    cells = rng.choice(SHAPE[0] * SHAPE[1], 400, replace=False)
    clicks = [Click((int(i) // SHAPE[1], int(i) % SHAPE[1]), bool(rng.integers(2))) for i in cells]
    mask = answer(segmenter, photograph().image, *clicks)
    assert all(mask[click.position] == click.is_positive for click in clicks)


def test_many_positive_clicks_alone_are_honoured(segmenter):
    clicks = [
        Click((row, column)) for row in range(0, SHAPE[0], 7) for column in range(0, SHAPE[1], 7)
    ]
    mask = answer(segmenter, photograph().image, *clicks)
    assert all(mask[click.position] for click in clicks)


def test_nothing_outside_a_box_is_segmented(segmenter):
    mask = answer(segmenter, photograph().image, Box((8, 8), (42, 42)))
    assert mask[25, 25]
    mask[8:42, 8:42] = False
    assert not mask.any()


def test_scribbles_are_honoured_along_their_line(segmenter):
    inside = Scribble(((18.0, 25.0), (32.0, 25.0)))
    outside = Scribble(((5.0, 50.5), (55.0, 50.5)), is_positive=False)
    mask = answer(segmenter, photograph().image, inside, outside)
    assert mask[18:33, 25].all()
    assert not mask[5:56, 50].any()


def test_other_prompts_and_other_objects_are_refused(segmenter):
    with pytest.raises(SegmenterError, match="mask"):
        answer(segmenter, photograph().image, MaskPrompt(np.ones(SHAPE, bool)))
    with pytest.raises(SegmenterError, match="one object"):
        answer(segmenter, photograph().image, Click((3, 3), object_id=2))


def test_volumes_and_videos_are_refused(segmenter):
    volume = VolumeSample(id="v", voxels=np.zeros((2, 8, 8)), spacing_mm=(1.0, 1.0, 1.0))
    video = VideoSample(id="w", frames=[np.zeros((8, 8, 3), np.uint8)], frame_shape=(8, 8))
    for sample in (volume, video):
        with pytest.raises(SegmenterError, match="accepts only images"):
            segmenter.encode(sample)


def test_grabcut_takes_a_box_at_its_word():
    rows, columns = np.mgrid[:80, :100]
    disc = (rows - 40) ** 2 + (columns - 50) ** 2 < 25**2
    image = np.where(disc[..., None], (110, 100, 90), (95, 100, 105)) + np.random.default_rng(
        0
    ).normal(0, 4, (80, 100, 3))
    sample = ImageSample(id="disc", image=image.clip(0, 255).astype(np.uint8))
    segmenter = registry.build("segmenter", "grabcut")
    dialogue = Dialogue(rounds=((Box((16, 26), (65, 75)),),))
    mask = segmenter.predict(segmenter.encode(sample), [dialogue])[0].mask
    assert (mask & disc).sum() / (mask | disc).sum() > 0.9


def share(mask, target):
    return (mask & target).sum() / (mask | target).sum()


@pytest.mark.parametrize(("times", "noise", "least"), [(1, 0, 1.0), (4, 20, 0.99), (10, 20, 0.99)])
def test_a_stroke_along_a_bar_gives_the_bar_whatever_its_size(times, noise, least):
    target = np.zeros((100, 150), bool)
    target[45:55, 5:145] = True
    target = target.repeat(times, axis=0).repeat(times, axis=1)
    image = np.where(target[..., None], (200, 60, 60), (60, 90, 60))
    image = (
        (image + np.random.default_rng(0).normal(0, noise, image.shape))
        .clip(0, 255)
        .astype(np.uint8)
    )
    stroke = Scribble(((50.0 * times, 6.0 * times), (50.0 * times, 143.0 * times)))
    assert share(answer(registry.build("segmenter", "grabcut"), image, stroke), target) >= least


def disc_on_grey(row, column, radius, at=(110, 150)):
    rows, columns = np.mgrid[:80, :100]
    target = (rows - row) ** 2 + (columns - column) ** 2 < radius**2
    image = np.random.default_rng(0).normal(np.where(target, *at[::-1])[..., None], 8, (80, 100, 3))
    return target, image.clip(0, 255).astype(np.uint8)


def lasso(row, column, radius, *, is_positive=True):
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    points = np.stack([row + radius * np.sin(angles), column + radius * np.cos(angles)], axis=1)
    return Lasso(tuple(map(tuple, points.tolist())), is_positive=is_positive)


def test_grabcut_takes_what_a_lasso_encloses_and_moves_to_the_edge():
    target, image = disc_on_grey(40, 50, 20)
    segmenter = registry.build("segmenter", "grabcut")
    assert share(answer(segmenter, image, lasso(40, 50, 23)), target) > 0.97
    assert share(answer(segmenter, image, lasso(40, 50, 17)), target) > 0.97
    assert not answer(segmenter, image, lasso(40, 50, 17, is_positive=False)).any()
    with pytest.raises(SegmenterError, match="one object"):
        answer(segmenter, image, Lasso(lasso(40, 50, 17).points, object_id=2))


@pytest.mark.parametrize("is_positive", [True, False])
def test_a_lasso_adds_to_grabcut_or_takes_away_what_it_encloses(is_positive):
    target, image = disc_on_grey(40, 30, 15)
    other, _ = disc_on_grey(40, 75, 12)
    image[other] = image[target].mean(axis=0)  # of the same colour
    before, after = (target, target | other) if is_positive else (target | other, target)
    dialogue = Dialogue(
        ((Click((40, 30)),), (lasso(40, 75, 13, is_positive=is_positive),)), Prediction(before)
    )
    segmenter = registry.build("segmenter", "grabcut")
    mask = segmenter.predict(segmenter.encode(ImageSample(id="x", image=image)), [dialogue])[0].mask
    assert share(mask, after) > 0.95


def test_a_lasso_after_a_box_reaches_beyond_it():
    target, image = disc_on_grey(40, 50, 20)
    segmenter = registry.build("segmenter", "grabcut")
    encoded = segmenter.encode(ImageSample(id="x", image=image))
    dialogue = Dialogue().ask((Box((20, 30), (61, 50)),))  # its left half
    dialogue = dialogue.answer(segmenter.predict(encoded, [dialogue])[0]).ask((lasso(40, 50, 20),))
    dialogue = dialogue.answer(segmenter.predict(encoded, [dialogue])[0])
    assert share(dialogue.previous.mask, target) > 0.9
    again = segmenter.predict(encoded, [dialogue.ask((Click((40, 60)),))])[0]
    assert share(again.mask, target) > 0.9


def test_a_positive_click_where_colours_tell_nothing_keeps_the_previous_mask():
    target, image = disc_on_grey(40, 50, 12, at=(120, 121))
    segmenter = registry.build("segmenter", "grabcut")
    dialogue = Dialogue(((Click((40, 50)),), (Click((40, 64)),)), Prediction(target))
    mask = segmenter.predict(segmenter.encode(ImageSample(id="x", image=image)), [dialogue])[0].mask
    assert (mask & target).sum() > 0.7 * target.sum()
    assert mask[40, 64]


def test_a_box_and_a_stroke_together_are_no_worse_than_either():
    target, image = disc_on_grey(40, 50, 20)
    segmenter, stroke = (
        registry.build("segmenter", "grabcut"),
        Scribble(((40.0, 38.0), (40.0, 62.0))),
    )
    box = Box((20, 30), (61, 71))
    assert share(answer(segmenter, image, box, stroke), target) > 0.97
    surplus = Scribble(((22.0, 32.0), (24.0, 32.0)), is_positive=False)
    mask = answer(segmenter, image, box, stroke, surplus)
    assert share(mask, target) > 0.97
    assert not mask[22:25, 32].any()


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize(
    "correction",
    [Click((31, 49)), Click((8, 8), is_positive=False), Scribble(((31.0, 49.0), (34.0, 49.0)))],
)
def test_a_correction_of_grabcut_keeps_what_came_from_a_box(correction, forgets):
    rows, columns = np.mgrid[:80, :100]
    target = (rows - 33) ** 2 + (columns - 42) ** 2 < 8**2
    image = np.random.default_rng(0).normal(np.where(target, 130, 110)[..., None], 8, (80, 100, 3))
    segmenter = registry.build("segmenter", "grabcut")
    sample = ImageSample(id="x", image=image.clip(0, 255).astype(np.uint8))
    dialogue = Dialogue().ask((Box((25, 34), (42, 51)),))
    dialogue = dialogue.answer(segmenter.predict(segmenter.encode(sample), [dialogue])[0])
    before = share(dialogue.previous.mask, target)
    asked = (
        Dialogue(((correction,),), dialogue.previous) if forgets else dialogue.ask((correction,))
    )
    assert (
        share(segmenter.predict(segmenter.encode(sample), [asked])[0].mask, target) > before - 0.05
    )
