"""Behaviour that every segmenter of the package must have.

A new segmenter is one line of `CASES`. A network also needs its tiny model in `TINY` of
conftest.py, under the same name.
"""

from __future__ import annotations

import copy
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from segarena import evaluate, registry
from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.engine.encoding_cache import from_bytes, to_bytes
from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Scribble
from segarena.samples import ImageSample, Support, Target, VideoSample, VolumeSample

ROUNDS = 5  # in which every kind of prompt takes its turn
ROUNDS_ALONE = 3  # of one kind, where there are others
SHAPE = (60, 80)
SMALL = (30, 40)  # of one slice or frame of several


def textured(shape, seed=0):
    """A bright disc, a dark one and a stripe on noise: structure without a file."""
    rng = np.random.default_rng(seed)
    height, width = shape
    rows, columns = np.mgrid[:height, :width] * np.reshape([60 / height, 80 / width], (2, 1, 1))
    image = rng.normal((90, 110, 100), 12, (*shape, 3))
    image[(rows - 25) ** 2 + (columns - 25) ** 2 < 15**2] += (90, 20, -30)
    image[(rows - 35) ** 2 + (columns - 60) ** 2 < 12**2] -= (60, 60, 20)
    image[(rows >= 50) & (rows < 54)] += 60
    return image.clip(0, 255).astype(np.uint8)


def photograph(shape=SHAPE, seed=0):
    return ImageSample(id=f"photograph{seed}", image=textured(shape, seed))


def clip(shape=SMALL, seed=0):
    frames = [np.roll(textured(shape, seed), 2 * shift, axis=1) for shift in range(2)]
    return VideoSample(id=f"clip{seed}", frames=frames, frame_shape=shape)


def volume(shape=SMALL, seed=0):
    planes = [np.roll(textured(shape, seed).mean(axis=2), 2 * shift, axis=1) for shift in range(3)]
    return VolumeSample(id=f"volume{seed}", voxels=np.stack(planes), spacing_mm=(2.0, 1.0, 1.0))


def labelled_volume(shape=SMALL, seed=0):
    sample = volume(shape, seed)
    bright = sample.voxels > np.median(sample.voxels)
    return replace(
        sample, targets=(Target(id="bright", mask=bright), Target(id="dark", mask=~bright))
    )


@dataclass(frozen=True)
class Case:
    """Construction of a segmenter, and its samples.

    Attributes:
        written: the plug-in as written; `{folder}` is a folder with the weights of the tiny model of that name.
        sample: (shape of an image or frame, seed) to a sample; both have defaults.
        opens_with: a kind of prompt that the first round must hold beside whatever else is said.
    """

    written: str
    sample: object = photograph
    opens_with: str = ""


WORKER = f"{sys.executable} {Path(__file__).parent / 'workers' / 'honest.py'}"
NETWORK = "(weights={folder!r}, device='cpu')"
CASES = {
    "graph": Case("graph"),
    "grabcut": Case("grabcut"),
    "watershed": Case("watershed"),
    "sam": Case(f"sam{NETWORK}"),
    "sam-hq": Case(f"sam-hq{NETWORK}"),
    "sam2": Case(f"sam2{NETWORK}"),
    "edgetam": Case(f"edgetam{NETWORK}"),
    "sam3-tracker": Case(f"sam3-tracker{NETWORK}"),
    "clipseg": Case("clipseg(weights={folder!r}, device='cpu', side_px=64)"),
    "seggpt": Case(f"seggpt{NETWORK}"),
    "dino": Case("dino(weights={folder!r}, device='cpu', side_px=70)"),
    "persam": Case(f"persam{NETWORK}"),
    "colour-flow": Case("colour-flow", clip),
    "video-walk": Case("video-walk", clip),
    "sam2-video": Case(f"sam2-video{NETWORK}", clip),
    "slices": Case("slices(segmenter=\"sam(weights='{folder}', device='cpu')\")", volume, "click"),
    "medsam": Case(f"medsam{NETWORK}"),
    "random-walker": Case("random-walker", volume),
    "geodesic": Case("geodesic", volume),
    "degraded-truth": Case("degraded-truth", labelled_volume),
    "nothing": Case("nothing"),
    "everything": Case("everything"),
    "target-box": Case("target-box", labelled_volume),
    "image-blind": Case("image-blind"),
    "copy-support-mask": Case("copy-support-mask"),
    "saliency-only": Case("saliency-only"),
    "superpixel-prototypes": Case("superpixel-prototypes"),
    "worker": Case(f"worker({WORKER!r})"),
    "votes": Case("votes(segmenter='superpixel-prototypes')"),
    "sssi": Case("sssi(segmenter='superpixel-prototypes', mode='feedback')"),
}
# What each round says, by kind: (shape of the sample, number of the round, from 0) to a prompt.
PLACES = [(0.45, 0.35), (0.6, 0.75), (0.85, 0.1), (0.25, 0.3), (0.0, 1.0)]


def place(shape, number):
    """The position of a round: whole pixel indices, in the first frame or plane if there are several."""
    last = np.array(shape[-2:]) - 1
    return (*(0,) * (len(shape) - 2), *(int(index) for index in np.rint(PLACES[number] * last)))


def click(shape, number):
    return Click(place(shape, number), is_positive=number in (0, 3))


def box(shape, number):
    start = tuple(
        min(number, length - 1) if axis >= len(shape) - 2 else 0
        for axis, length in enumerate(shape)
    )
    stop = tuple(
        max(first + 1, length - 2 * number) if axis >= len(shape) - 2 else 1
        for axis, (first, length) in enumerate(zip(start, shape, strict=True))
    )
    return Box(start, stop)


def scribble(shape, number):
    first, last = place(shape, number), place(shape, (number + 3) % ROUNDS)
    return Scribble(
        (tuple(map(float, first)), tuple(map(float, last))), is_positive=number in (0, 3)
    )


def drawn(shape, number):
    mask = np.zeros(shape, bool)
    area = box(shape, number)
    mask[tuple(slice(first, last) for first, last in zip(area.start, area.stop, strict=True))] = (
        True
    )
    return MaskPrompt(mask)


def support(shape, number):
    sample = photograph(SHAPE, seed=20 + number)
    return Support(sample, drawn(SHAPE, number + 3 if number < 2 else number).mask)


def lasso(shape, number):
    area = box(shape, number)
    (top, left), (bottom, right) = area.start[-2:], (last - 1 for last in area.stop[-2:])
    corners = [(top, left), (top, right), (bottom, right), (bottom, left)]
    points = tuple((*area.start[:-2], *map(float, corner)) for corner in corners)
    return Lasso(points, is_positive=number in (0, 3))


def limits(shape, number):
    return Limits(min(number, 1) % shape[0], shape[0] - 1)


PROMPTS = {
    "click": click,
    "box": box,
    "scribble": scribble,
    "lasso": lasso,
    "limits": limits,
    "mask": drawn,
    "support": support,
}


def conversation(case, segmenter, shape, kind):
    """Prompts of five rounds of one kind; "all" alternates kinds. Supports are encoded, as in a run."""
    kinds = sorted(segmenter.prompt_kinds)
    rounds = []
    for number in range(ROUNDS if kind == "all" or len(kinds) == 1 else ROUNDS_ALONE):
        chosen = [kinds[number % len(kinds)] if kind == "all" else kind]
        if number == 0 and case.opens_with and case.opens_with not in chosen:
            chosen.insert(0, case.opens_with)
        prompts = [PROMPTS[name](shape, number) for name in chosen]
        rounds.append(
            tuple(
                replace(prompt, encoded=segmenter.encode(prompt.sample))
                if isinstance(prompt, Support)
                else prompt
                for prompt in prompts
            )
        )
    return rounds


def go_through(segmenter, encoded, rounds, shape):
    """The predictions of all rounds, each with the one before."""
    dialogue, predictions = Dialogue(), []
    for prompts in rounds:
        dialogue = dialogue.ask(prompts)
        (answer,) = segmenter.predict(encoded, [dialogue])
        prediction = as_prediction(answer, shape)
        dialogue = dialogue.answer(prediction)
        predictions.append(prediction)
    return predictions


def same(one, other):
    """Return whether two predictions are equal to the last bit, including their logits."""
    return np.array_equal(one.mask, other.mask) and _same(one.logits, other.logits)


def _same(one, other):
    if isinstance(one, dict):
        return set(one) == set(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return (one is None and other is None) or np.array_equal(np.asarray(one), np.asarray(other))


def copied(prediction):
    """Return a prediction that shares no memory with its original, as after storing and reading."""
    return Prediction(prediction.mask.copy(), copy.deepcopy(prediction.logits), prediction.score)


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture
def build(case, request):
    """A function that builds a new segmenter; only networks need torch, and are skipped without it."""
    written = case.written
    if "{folder" in written:
        request.getfixturevalue("edgetam_without_its_package")
        folder = request.getfixturevalue("folder_of")(written.partition("(")[0])
        written = written.format(folder=str(folder))
    return lambda: registry.build("segmenter", written)


def kinds_of(segmenter):
    """Yield every accepted kind of prompt alone, and all of them in turn."""
    return [*sorted(segmenter.prompt_kinds), *(["all"] if len(segmenter.prompt_kinds) > 1 else [])]


def test_every_segmenter_of_the_package_is_tested_here():
    ours = [
        name
        for name, made in registry.plugins_by_name("segmenter").items()
        if made.__module__.startswith("segarena.")
    ]
    assert set(CASES) == set(ours), "each segmenter of the package needs a line in CASES"


def test_every_kind_of_prompt_is_given_here(build):
    assert set(build().prompt_kinds) <= set(PROMPTS), "each kind of prompt needs a line in PROMPTS"


def test_the_last_round_is_replayed_from_its_stored_dialogue_alone(case, build):
    sample, other = case.sample(), case.sample(seed=1)
    live, fresh = build(), build()
    live_encoded = live.encode(sample)
    for kind in kinds_of(live):
        rounds = conversation(case, live, sample.shape, kind)
        answers = go_through(live, live_encoded, rounds, sample.shape)
        # What other dialogues left behind, about this sample or another, must not matter.
        go_through(
            fresh,
            fresh.encode(other),
            conversation(case, fresh, other.shape, kind)[:2],
            other.shape,
        )
        encoded = fresh.encode(sample)
        for number in (len(rounds), 2) if kind == "all" else (len(rounds),):
            stored = Dialogue(tuple(rounds[:number]), previous=copied(answers[number - 2]))
            (again,) = fresh.predict(encoded, [stored])
            assert same(as_prediction(again, sample.shape), answers[number - 1]), (kind, number)


def test_a_dialogue_alone_is_answered_as_in_any_batch(case, build):
    segmenter, sample = build(), case.sample()
    encoded = segmenter.encode(sample)
    dialogues = []
    for kind in kinds_of(segmenter):
        rounds = conversation(case, segmenter, sample.shape, kind)
        answers = go_through(segmenter, encoded, rounds[:2], sample.shape)
        dialogues += [Dialogue((rounds[0],)), Dialogue(tuple(rounds[:3]), previous=answers[1])]
    dialogues.append(Dialogue(tuple(rounds[:2]), previous=answers[0]))
    # Each on an encoding of its own: what the others did with theirs must not matter.
    singly = [segmenter.predict(segmenter.encode(sample), [dialogue])[0] for dialogue in dialogues]
    together = segmenter.predict(encoded, dialogues)
    backwards = segmenter.predict(encoded, dialogues[::-1])[::-1]
    for index, alone in enumerate(as_prediction(answer, sample.shape) for answer in singly):
        assert same(alone, as_prediction(together[index], sample.shape)), index
        assert same(alone, as_prediction(backwards[index], sample.shape)), index


def test_predicting_leaves_the_dialogue_as_it_was(case, build):
    segmenter, sample = build(), case.sample()
    encoded = segmenter.encode(sample)
    for kind in kinds_of(segmenter):
        rounds = conversation(case, segmenter, sample.shape, kind)
        (first,) = go_through(segmenter, encoded, rounds[:1], sample.shape)
        before = copied(first)
        segmenter.predict(encoded, [Dialogue(tuple(rounds[:2]), previous=first)])
        assert same(first, before), kind


@pytest.mark.parametrize("shape", [(1, 1), (3, 200), (200, 3)])
def test_tiny_and_thin_samples_are_answered(case, build, shape):
    segmenter, sample = build(), case.sample(shape)
    encoded = segmenter.encode(sample)
    for kind in kinds_of(segmenter):
        rounds = conversation(case, segmenter, sample.shape, kind)
        asked = rounds if kind == "all" else rounds[:2]
        for prediction in go_through(segmenter, encoded, asked, sample.shape):
            assert prediction.mask.dtype == np.bool_, kind


@pytest.mark.parametrize(
    "case", [name for name in CASES if CASES[name].sample is photograph], indirect=True
)
def test_a_grey_image_is_answered_as_the_same_in_three_channels(case, build):
    segmenter = build()
    grey = textured(SHAPE).mean(axis=2).astype(np.uint8)
    rounds = conversation(case, segmenter, SHAPE, sorted(segmenter.prompt_kinds)[0])
    answers = [
        go_through(segmenter, segmenter.encode(ImageSample(id="grey", image=image)), rounds, SHAPE)
        for image in (grey, np.stack([grey] * 3, axis=2), np.dstack([grey, grey, grey, 255 - grey]))
    ]
    for one, in_colour, with_alpha in zip(*answers, strict=True):
        assert same(one, in_colour)
        assert same(one, with_alpha)


class Photographs:
    """Two photographs with two targets each."""

    name, fingerprint, sample_ids = "photographs", "1", ["0", "1"]

    def load(self, sample_id):
        rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
        discs = [
            (rows - 25) ** 2 + (columns - 25) ** 2 < 15**2,
            (rows - 35) ** 2 + (columns - 60) ** 2 < 12**2,
        ]
        targets = tuple(Target(id=str(index), mask=disc) for index, disc in enumerate(discs))
        return ImageSample(id=sample_id, image=textured(SHAPE, int(sample_id)), targets=targets)

    def check(self):
        return []


PACKS = [
    name
    for name, made in registry.plugins_by_name("segmenter").items()
    if name in CASES and hasattr(made, "pack")
]


@pytest.mark.parametrize("case", PACKS, indirect=True)
def test_an_encoding_that_was_kept_gives_the_same_answers_in_another_segmenter(case, build):
    segmenter, sample = build(), case.sample()
    encoded = segmenter.encode(sample)
    kept = build().unpack(from_bytes(to_bytes(segmenter.pack(encoded))))
    for kind in kinds_of(segmenter):
        rounds = conversation(case, segmenter, sample.shape, kind)
        answers = go_through(segmenter, encoded, rounds, sample.shape)
        again = go_through(build(), kept, rounds, sample.shape)
        assert all(map(same, answers, again)), kind


FROM_CLICKS = [
    name
    for name, made in registry.plugins_by_name("segmenter").items()
    if name in CASES
    and CASES[name] == Case(CASES[name].written)
    and "click" in (made.prompt_kinds or {"click"})
]


@pytest.mark.parametrize(
    ("benchmark", "users", "rounds", "case"),
    [
        # Networks of the kind of SAM and SAM 2 are called alike: one of either is run in every run of the suite.
        *(
            pytest.param(
                "clicks",
                1,
                2,
                name,
                marks=pytest.mark.long if name in ("sam-hq", "edgetam", "sam3-tracker") else [],
            )
            for name in FROM_CLICKS
        ),
        # How many users ask about an encoding is up to the run: two segmenters show it in every run of the suite.
        *(
            pytest.param(
                "rclicks", 11, 1, name, marks=[] if name in ("graph", "sam") else pytest.mark.long
            )
            for name in FROM_CLICKS
        ),
    ],
    indirect=["case"],
)
def test_a_run_of_clicks_encodes_each_image_once(build, tmp_path, benchmark, users, rounds):
    segmenter = build()
    encode, seen = segmenter.encode, []

    class Counted:
        prompt_kinds, predict = segmenter.prompt_kinds, staticmethod(segmenter.predict)

        def encode(self, sample):
            seen.append(sample.id)
            return encode(sample)

    run = evaluate(
        benchmark, segmenter=Counted(), dataset=Photographs(), rounds=rounds, out=tmp_path / "run"
    )
    assert run.records()["failure"].drop_nulls().to_list() == []
    assert run.records()["user"].n_unique() == users
    assert seen == ["0", "1"]
    assert run.config.counts.encodes == 2
