from __future__ import annotations

import numpy as np
import pytest

from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid, PredictionInvalid, SegmenterError
from segarena.registry import build
from segarena.samples import ImageSample, Support, Target, VolumeSample
from segarena.systems.oneshot.segmenters.sssi import (
    RegionBlur,
    SssiSegmenter,
    find_requested_target,
)

SHAPE = (60, 90)


def disc(row, column, radius):
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    return (rows - row) ** 2 + (columns - column) ** 2 < radius**2


SALIENT, DIM = disc(30, 25, 12), disc(30, 65, 12)
STRONG = {"sigma": 0.2, "dilation": 0.1}  # so that a small disc is no longer red


def query(**supports):
    """A conspicuous and an inconspicuous red disc on noise."""
    image = np.random.default_rng(0).normal(100, 3, (*SHAPE, 3))
    image[SALIENT] = (230, 40, 20)
    image[DIM] += 12
    targets = (Target(id="salient", mask=SALIENT), Target(id="dim", mask=DIM))
    return ImageSample(
        id="q", image=image.clip(0, 255).astype(np.uint8), targets=targets, supports=supports
    )


def support(name="s", mask=SALIENT):
    return Support(ImageSample(id=name, image=np.zeros((*SHAPE, 3), np.uint8)), mask)


class Echo:
    """Answers with the red pixels of the image, and records its input."""

    prompt_kinds = frozenset({"support"})

    def __init__(self):
        self.encoded, self.supports = [], []

    def encode(self, sample):
        self.encoded.append(sample.image)
        return sample.image.astype(int)

    def predict(self, encoded, dialogues):
        self.supports += [prompt.encoded for dialogue in dialogues for prompt in dialogue.prompts]
        return [encoded[..., 0] - encoded[..., 1] > 100 for _ in dialogues]


def test_a_region_is_blurred_and_nothing_far_from_it():
    image = np.random.default_rng(1).integers(0, 256, (100, 200, 3), dtype=np.uint8)
    region = np.zeros((100, 200), bool)
    region[40:60, 40:80] = True
    blurred = RegionBlur()(image, region)
    assert np.array_equal(RegionBlur()(image, region & ~region), image)
    reach = (
        5 + 5 + 8
    )  # sigma is 10 pixels; grown by 5, feathered by 2.5, cut off at about 3 of these
    far = np.ones_like(region)
    far[40 - reach : 60 + reach, 40 - reach : 80 + reach] = False
    assert np.array_equal(blurred[far], image[far])
    assert blurred[42:58, 42:78].std() < 0.2 * image[42:58, 42:78].std()
    assert abs(blurred[45:55, 45:75].mean() - image.mean()) < 6


def test_without_growing_the_blur_is_that_of_the_whole_image_in_the_region():
    image = np.random.default_rng(1).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    everywhere = RegionBlur(sigma=0.1, dilation=0.0)(image, np.ones((40, 50), bool))
    region = np.zeros((40, 50), bool)
    region[10:20, 10:20] = True
    part = RegionBlur(sigma=0.1, dilation=0.0)(image, region)
    assert np.array_equal(part[region], everywhere[region])
    assert np.array_equal(part[~region], image[~region])


def test_the_oracle_blurs_for_targets_that_are_not_salient():
    echo = Echo()
    segmenter = SssiSegmenter(segmenter=echo, **STRONG)
    first, second = support("a"), support("b", DIM)
    sample = query(salient=(first,), dim=(second,))
    encoded = segmenter.encode(sample)
    salient, dim, again = segmenter.predict(
        encoded, [Dialogue().ask((each,)) for each in (first, second, second)]
    )
    assert np.array_equal(salient.mask, SALIENT)
    assert not dim.mask.any()
    assert np.array_equal(dim.mask, again.mask)
    assert len(echo.encoded) == 2 == len(encoded.pass_seconds)
    assert (
        np.abs(echo.encoded[1][DIM].astype(int) - echo.encoded[0][DIM]).max() <= 1
    )  # what was not salient is left


def test_a_salient_target_costs_no_second_pass():
    echo = Echo()
    segmenter = SssiSegmenter(segmenter=echo, **STRONG)
    encoded = segmenter.encode(query(salient=(support(),)))
    segmenter.predict(encoded, [Dialogue().ask((support(),))])
    assert len(encoded.pass_seconds) == 1


def test_feedback_is_to_be_asked_once_more():
    segmenter = SssiSegmenter(segmenter=Echo(), mode="feedback", **STRONG)
    dialogue = Dialogue().ask((support(),))
    encoded = segmenter.encode(query())
    (first,) = segmenter.predict(encoded, [dialogue])
    (second,) = segmenter.predict(encoded, [dialogue.answer(first).ask((support(),))])
    assert np.array_equal(first.mask, SALIENT)
    assert not second.mask.any()


def test_always_blurs_always():
    segmenter = SssiSegmenter(segmenter=Echo(), mode="always", **STRONG)
    (answer,) = segmenter.predict(segmenter.encode(query()), [Dialogue().ask((support(),))])
    assert isinstance(answer, Prediction)
    assert not answer.mask.any()


def test_supports_reach_the_segmenter_as_it_encoded_them_itself():
    echo = Echo()
    segmenter = SssiSegmenter(segmenter=echo, mode="always")
    shown = support()
    encoded = Support(shown.sample, shown.mask, encoded=segmenter.encode(shown.sample))
    segmenter.predict(segmenter.encode(query()), [Dialogue().ask((encoded,))])
    assert isinstance(echo.supports[0], np.ndarray)
    assert len(echo.encoded) == 3  # the support, the query and the blurred query, each once


def test_the_target_asked_for_is_told_by_the_supports():
    first, second = support("a"), support("a", DIM)
    sample = query(salient=(first,), dim=(second,))
    assert find_requested_target(sample, [support("a")]).id == "salient"
    assert find_requested_target(sample, [support("a", DIM)]).id == "dim"
    with pytest.raises(SegmenterError, match="which of its 2 targets is requested"):
        find_requested_target(sample, [support("b")])
    alone = ImageSample(id="q", image=sample.image, targets=sample.targets[:1])
    assert find_requested_target(alone, [support("b")]).id == "salient"


def test_built_as_written_around_any_one_shot_segmenter():
    segmenter = build(
        "segmenter", "sssi(segmenter='superpixel-prototypes(neighbours=3)', sigma=0.1)"
    )
    assert segmenter.segmenter.neighbours == 3
    assert segmenter.blur.sigma == 0.1
    assert segmenter.device == "cpu"


@pytest.mark.parametrize("options", [{"sigma": 0}, {"threshold": 2}, {"dilation": -1}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(PluginInvalid, match="expected"):
        SssiSegmenter(segmenter=Echo(), **options)


def test_other_segmenters_and_samples_are_refused():
    with pytest.raises(PluginInvalid, match="accepts supports"):
        SssiSegmenter(segmenter="grabcut")
    with pytest.raises(SegmenterError, match="accepts only images"):
        SssiSegmenter(segmenter=Echo()).encode(
            VolumeSample(id="v", voxels=np.zeros((2, 3, 4)), spacing_mm=(1.0, 1.0, 1.0))
        )
    mute = Echo()
    mute.predict = lambda encoded, dialogues: []
    segmenter = SssiSegmenter(segmenter=mute, mode="always")
    with pytest.raises(PredictionInvalid, match="expected 1 predictions, got 0"):
        segmenter.predict(segmenter.encode(query()), [Dialogue().ask((support(),))])
