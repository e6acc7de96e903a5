from __future__ import annotations

import numpy as np
import pytest

from segarena.comparison import Comparison
from segarena.dialogue import Dialogue
from segarena.errors import PluginInvalid, SegmenterError
from segarena.prompts import Click
from segarena.registry import build
from segarena.samples import ImageSample, Support

NAME = "superpixel-prototypes"


def scene(colour, centre, seed, shape=(120, 160)):
    """A textured disc of a colour on blue noise, with a grey one beside it."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    image = rng.normal((60, 80, 140), 10, (*shape, 3))
    disc = (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2 < 25**2
    other = (rows - 90) ** 2 + (columns - 125) ** 2 < 20**2
    image[other] = 128
    image[disc] = colour + rng.normal(0, 10, (int(disc.sum()), 3))
    return ImageSample(id=f"s{seed}", image=image.clip(0, 255).astype(np.uint8)), disc


def iou(prediction, target):
    found = Comparison.of(prediction.mask, target)
    return found.intersection / found.union


def ask(*supports):
    return Dialogue().ask(tuple(Support(sample, mask) for sample, mask in supports))


@pytest.mark.parametrize("options", ["", "(refine='grabcut')"])
def test_an_object_of_the_same_colour_is_found_elsewhere(options):
    segmenter = build("segmenter", NAME + options)
    query, disc = scene((210, 60, 40), (40, 60), 1)
    shown = scene((210, 60, 40), (70, 40), 2)
    alone, same, twice = segmenter.predict(
        segmenter.encode(query), [ask(shown), ask((query, disc)), ask(shown, (query, disc))]
    )
    assert iou(alone, disc) > 0.8
    assert iou(same, disc) > 0.8
    assert iou(twice, disc) > 0.8


def test_the_support_decides_which_object_is_found():
    segmenter = build("segmenter", NAME)
    query, disc = scene((210, 60, 40), (40, 60), 1)
    shown, _ = scene((210, 60, 40), (70, 40), 2)
    grey = (np.abs(shown.image.astype(int) - 128) < 2).all(axis=2)
    (answer,) = segmenter.predict(segmenter.encode(query), [ask((shown, grey))])
    assert iou(answer, disc) < 0.05
    assert iou(answer, (np.abs(query.image.astype(int) - 128) < 2).all(axis=2)) > 0.7


def test_more_supports_help_where_one_shows_another_colour():
    segmenter = build("segmenter", NAME)
    query, disc = scene((60, 180, 60), (40, 60), 1)
    misleading, showing = scene((210, 60, 40), (70, 40), 2), scene((60, 180, 60), (70, 40), 3)
    encoded = segmenter.encode(query)
    one, two = segmenter.predict(encoded, [ask(misleading), ask(misleading, showing)])
    assert iou(two, disc) > iou(one, disc) + 0.2


def test_an_object_smaller_than_a_superpixel_still_counts():
    segmenter = build("segmenter", NAME)
    query, _ = scene((210, 60, 40), (40, 60), 1)
    mask = np.zeros(query.shape, bool)
    mask[40, 60] = True
    (answer,) = segmenter.predict(segmenter.encode(query), [ask((query, mask))])
    assert answer.mask[40, 60]


def test_a_support_that_shows_nothing_asks_for_nothing_and_one_without_background_for_all():
    segmenter = build("segmenter", NAME)
    query, _ = scene((210, 60, 40), (40, 60), 1)
    shown, disc = scene((210, 60, 40), (70, 40), 2)
    nothing, all_of_it, both = segmenter.predict(
        segmenter.encode(query),
        [
            ask((shown, ~disc & disc)),
            ask((shown, disc | ~disc)),
            ask((shown, disc), (query, np.zeros(disc.shape, bool))),
        ],
    )
    assert not nothing.mask.any()
    assert all_of_it.mask.all()
    assert not both.mask.all()


def test_what_was_encoded_of_a_support_is_taken(monkeypatch):
    segmenter = build("segmenter", NAME)
    query, _ = scene((210, 60, 40), (40, 60), 1)
    shown, disc = scene((210, 60, 40), (70, 40), 2)
    encoded, seen = segmenter.encode(query), segmenter.encode(shown)
    (expected,) = segmenter.predict(encoded, [ask((shown, disc))])
    monkeypatch.setattr(type(segmenter), "encode", None)
    (answer,) = segmenter.predict(encoded, [Dialogue().ask((Support(shown, disc, encoded=seen),))])
    assert np.array_equal(answer.mask, expected.mask)


@pytest.mark.parametrize(
    "option", ["refine='crf'", "superpixels=1", "neighbours=0", "threshold=1.0"]
)
def test_options_out_of_range_are_refused(option):
    with pytest.raises(PluginInvalid, match="expected"):
        build("segmenter", f"{NAME}({option})")


def test_other_prompts_are_refused():
    segmenter = build("segmenter", NAME)
    encoded = segmenter.encode(scene((210, 60, 40), (40, 60), 1)[0])
    with pytest.raises(SegmenterError, match="expected prompts of kind support"):
        segmenter.predict(encoded, [Dialogue().ask((Click((3, 3)),))])
