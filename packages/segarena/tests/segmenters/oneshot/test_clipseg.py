from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from segarena import registry
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput, PluginInvalid, PredictionInvalid, SegmenterError
from segarena.prompts import Click
from segarena.samples import ImageSample, Support, VolumeSample
from segarena.segmenters.oneshot.clipseg import ClipSegSegmenter, ObjectView, highlight_object

MEAN = np.array([0.485, 0.456, 0.406]) * 255


@pytest.fixture
def folder(folder_of):
    return folder_of("clipseg")


def build(folder, **options):
    more = "".join(
        f", {name}={value!r}" for name, value in {"side_px": 64, "device": "cpu", **options}.items()
    )
    return registry.build("segmenter", f"clipseg(weights={str(folder)!r}{more})")


def photograph(seed=0, shape=(50, 70, 3)):
    image = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    return ImageSample(id=f"p{seed}", image=image)


def support(seed=1, window=(slice(10, 30), slice(20, 50)), shape=(50, 70, 3)):
    sample = photograph(seed, shape)
    mask = np.zeros(sample.shape, bool)
    mask[window] = True
    return Support(sample, mask)


def ask(*supports):
    return Dialogue().ask(supports)


def library_logits(folder, query, picture):
    """The whole model of the library on pixels of the library's processor."""
    import torch
    from transformers import CLIPSegForImageSegmentation, ViTImageProcessorPil

    processor = ViTImageProcessorPil(
        size={"height": 64, "width": 64},
        image_mean=[0.485, 0.456, 0.406],
        image_std=[0.229, 0.224, 0.225],
    )
    model = CLIPSegForImageSegmentation.from_pretrained(folder).eval()
    with torch.no_grad():
        return model(
            pixel_values=processor(query, return_tensors="pt").pixel_values,
            conditional_pixel_values=processor(picture, return_tensors="pt").pixel_values,
        ).logits[0]


def enlarged(logits, shape):
    import torch

    return torch.nn.functional.interpolate(
        logits[None, None], shape, mode="bilinear", align_corners=False
    )[0, 0]


@pytest.mark.parametrize("shown", get_args(ObjectView))
def test_masks_are_those_of_the_whole_model_of_the_library(folder, shown):
    segmenter, query, example = build(folder, shown=shown), photograph(), support()
    (answer,) = segmenter.predict(segmenter.encode(query), [ask(example)])
    logits = library_logits(
        folder, query.image, highlight_object(example.sample.image, example.mask, shown, 64)
    )
    expected = (enlarged(logits, query.shape) > 0).numpy()
    assert 0.02 < expected.mean() < 0.98
    assert np.array_equal(answer.mask, expected)


def test_of_several_supports_the_logits_are_averaged(folder):
    segmenter, query = build(folder, threshold=0.1), photograph()
    examples = [support(seed) for seed in (1, 2, 3)]
    (answer,) = segmenter.predict(segmenter.encode(query), [ask(*examples)])
    logits = [
        library_logits(
            folder, query.image, highlight_object(example.sample.image, example.mask, "crop", 64)
        )
        for example in examples
    ]
    expected = (enlarged((logits[0] + logits[1] + logits[2]) / 3, query.shape) > 0.1).numpy()
    assert 0.02 < expected.mean() < 0.98
    assert (
        answer.mask == expected
    ).mean() > 0.999  # sums of three round otherwise in another order


def test_the_support_decides(folder):
    segmenter, query = build(folder), photograph()
    masks = [
        answer.mask
        for answer in segmenter.predict(
            segmenter.encode(query), [ask(support(seed)) for seed in (1, 2, 3, 4)]
        )
    ]
    assert any(not np.array_equal(masks[0], other) for other in masks[1:])


def test_a_batch_gives_what_single_calls_give(folder):
    segmenter, query = build(folder), photograph()
    encoded = segmenter.encode(query)
    dialogues = [
        ask(support(1)),
        ask(support(2), support(3)),
        ask(support(3)),
        ask(support(1), support(1)),
    ]
    together = segmenter.predict(encoded, dialogues)
    backwards = segmenter.predict(encoded, dialogues[::-1])[::-1]
    for dialogue, batched, turned in zip(dialogues, together, backwards, strict=True):
        (alone,) = build(folder).predict(encoded, [dialogue])
        assert np.array_equal(alone.mask, batched.mask)
        assert np.array_equal(alone.mask, turned.mask)


def test_a_stored_dialogue_is_replayed_from_a_packed_encoding(folder):
    live, query = build(folder), photograph()
    encoded = live.encode(query)
    first = ask(support(1))
    (answer,) = live.predict(encoded, [first])
    second = first.answer(answer).ask((support(2),))
    (later,) = live.predict(encoded, [second])
    fresh = build(folder)
    read = fresh.unpack({name: np.array(array) for name, array in live.pack(encoded).items()})
    stored = Dialogue(second.rounds, Prediction(answer.mask.copy(), answer.logits))
    assert np.array_equal(fresh.predict(read, [stored])[0].mask, later.mask)
    assert np.array_equal(live.predict(encoded, [ask(support(1), support(2))])[0].mask, later.mask)
    assert fresh.fingerprint == live.fingerprint
    assert fresh.device == "cpu"


def test_an_image_is_encoded_once_and_each_support_looked_at_once(folder, monkeypatch):
    segmenter, looked = build(folder), []
    look = segmenter.model.clip.get_image_features
    monkeypatch.setattr(
        segmenter.model.clip,
        "get_image_features",
        lambda *args, **how: looked.append(1) or look(*args, **how),
    )
    encoded = segmenter.encode(photograph())
    examples = [support(1), support(2)]
    segmenter.predict(
        encoded, [ask(examples[0]), ask(*examples), ask(examples[1]), ask(examples[0])]
    )
    assert len(looked) == 1 + 2


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 400, 3), (400, 1, 3), (30, 40)])
def test_odd_and_grey_images_are_taken(folder, shape):
    segmenter, query = build(folder), photograph(shape=shape)
    example = support(2, (slice(0, 1), slice(0, 1)), shape)
    (answer,) = segmenter.predict(segmenter.encode(query), [ask(example)])
    assert answer.mask.shape == shape[:2]
    assert answer.mask.dtype == bool


@pytest.mark.parametrize("shown", ["crop", "whole", "cut-out"])
def test_a_support_that_shows_nothing_is_asked_about_as_background(folder, shown):
    empty = support(window=(slice(0, 0), slice(0, 0)))
    segmenter, query = build(folder, shown=shown), photograph()
    picture = highlight_object(empty.sample.image, empty.mask, shown)
    if shown == "cut-out":
        assert picture.shape == empty.sample.image.shape
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) == 1
    else:
        assert np.abs(picture.astype(int) - (124, 116, 104)).max() < 20  # a tenth of what it was
    first, second = segmenter.predict(segmenter.encode(query), [ask(empty), ask(empty, support())])
    assert first.mask.shape == second.mask.shape == query.shape


def test_other_prompts_and_samples_are_refused(folder):
    segmenter = build(folder)
    encoded = segmenter.encode(photograph())
    with pytest.raises(SegmenterError, match="expected prompts of kind support"):
        segmenter.predict(encoded, [Dialogue().ask((Click((3, 3)),))])
    with pytest.raises(SegmenterError, match="clipseg accepts only images, got a VolumeSample"):
        segmenter.encode(
            VolumeSample(id="v", voxels=np.zeros((2, 3, 4)), spacing_mm=(1.0, 1.0, 1.0))
        )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"shown": "frame"}, "expected one of 'crop', 'whole', 'cut-out'"),
        ({"side_px": 60}, "side_px=60: expected a multiple of the patch size, 8"),
        ({"device": "cuda:9"}, "does not exist"),
        ({"dtype": "int8"}, "expected one of 'float32'"),
        ({"batch_size": 0}, "whole number of at least 1"),
    ],
)
def test_options_that_do_not_exist_are_refused(folder, option, message):
    with pytest.raises(PluginInvalid, match=message):
        build(folder, **option)


def test_a_threshold_that_is_no_number_is_refused():
    with pytest.raises(PluginInvalid, match="expected a finite logit"):
        ClipSegSegmenter(weights="nowhere", threshold=float("nan"))


def test_weights_of_another_family_are_refused(folder_of):
    with pytest.raises(InvalidInput, match="clipseg accepts clipseg"):
        build(folder_of("sam"))


def test_half_precision_gives_nearly_the_same(folder):
    query, dialogue = photograph(), ask(support())
    full, half = build(folder), build(folder, dtype="bfloat16")
    (first,), (second,) = (one.predict(one.encode(query), [dialogue]) for one in (full, half))
    assert (first.mask == second.mask).mean() > 0.97


def test_a_network_that_gives_nan_is_reported(folder):
    import torch

    segmenter = build(folder)
    with torch.no_grad():
        segmenter.model.decoder.film_add.bias.fill_(float("nan"))
    with pytest.raises(PredictionInvalid, match="NaN"):
        segmenter.predict(segmenter.encode(photograph()), [ask(support())])


def test_a_cut_out_object_stands_before_the_mean_colour():
    image = np.full((4, 6, 3), 200, np.uint8)
    mask = np.zeros((4, 6), bool)
    mask[1, 2:4] = True
    picture = highlight_object(image, mask, "cut-out")
    assert (picture[mask] == 200).all()
    assert (picture[~mask] == np.rint(MEAN)).all()


def test_a_flat_background_keeps_a_tenth_of_its_intensity():
    image = np.full((4, 6, 3), 200, np.uint8)
    mask = np.zeros((4, 6), bool)
    mask[1, 2:4] = True
    picture = highlight_object(image, mask, "whole")
    assert (picture[mask] == 200).all()
    assert (picture[~mask] == np.rint(MEAN + 0.1 * (200 - MEAN))).all()


def test_a_crop_has_a_tenth_of_context_and_lies_in_the_middle_of_a_square():
    image = np.full((100, 100, 3), 200, np.uint8)
    mask = np.zeros((100, 100), bool)
    mask[40:60, 30:70] = True  # 20 x 40, so 2 and 4 pixels more on every side
    picture = highlight_object(image, mask, "crop", 48)
    assert picture.shape == (48, 48, 3)
    inside = np.zeros((48, 48), bool)
    inside[14:34, 4:44] = True
    assert (picture[inside] == 200).all()
    assert (picture[:12] == np.rint(MEAN)).all()
    assert (picture[36:] == np.rint(MEAN)).all()
    assert (picture[12:14] == np.rint(MEAN + 0.1 * (200 - MEAN))).all()
    twice = highlight_object(image, mask, "crop", 96)
    assert twice.shape == (96, 96, 3)
    assert (twice[30:66, 10:86] == 200).all()
    assert (twice[:23] == np.rint(MEAN)).all()


def test_a_crop_at_the_frame_has_no_context_beyond_it():
    image = np.full((20, 50, 3), 200, np.uint8)
    picture = highlight_object(image, np.ones((20, 50), bool), "crop", 50)
    assert (picture[15:35] == 200).all()
    assert (picture[:15] == np.rint(MEAN)).all()


def test_a_background_is_blurred_by_three_pixels_in_352():
    image = np.zeros((352, 352, 3), np.uint8)
    mask = np.zeros((352, 352), bool)
    mask[0, 0] = True
    before = highlight_object(image, mask, "whole").astype(int)
    image[176] = 255
    line = highlight_object(image, mask, "whole").astype(int) - before
    profile = 25.5 * np.exp(-(np.arange(-6, 7) ** 2) / 18) / np.sqrt(18 * np.pi)
    assert profile.max() > 3
    assert np.abs(line[170:183, 176, 0] - profile).max() <= 1
    larger = highlight_object(
        image.repeat(4, 0).repeat(4, 1), mask.repeat(4, 0).repeat(4, 1), "whole"
    ).astype(int)
    assert np.abs(larger[2::4, 2::4][5:-5] - before[5:-5] - line[5:-5]).max() <= 1
