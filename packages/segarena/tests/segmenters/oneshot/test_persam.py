from __future__ import annotations

import numpy as np
import pytest

from segarena import registry
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput, PluginInvalid, PredictionInvalid, SegmenterError
from segarena.prompts import Click
from segarena.samples import ImageSample, Support, VolumeSample

FAMILIES = ["sam", "sam-hq", "sam2", "edgetam", "sam3-tracker"]
# Batches are made by the same code for all; the networks are SAM with its own kernels and the four that share others.
IN_BATCHES = [
    "sam",
    "sam2",
    *(pytest.param(name, marks=pytest.mark.long) for name in ("sam-hq", "edgetam", "sam3-tracker")),
]
SHAPE = (
    60,
    80,
)  # a cell of SAM's embedding is 10 x 10 pixels, so 6 x 8 of its 8 x 8 cells are image


@pytest.fixture
def build(folder_of, edgetam_without_its_package):
    def make(family="sam", **options):
        weights = "anything" if family == "edgetam" else str(folder_of(family))
        given = {"weights": weights, "family": family, "device": "cpu", **options}
        return registry.build(
            "segmenter",
            f"persam({', '.join(f'{name}={value!r}' for name, value in given.items())})",
        )

    return make


def photograph(seed=0, shape=(*SHAPE, 3)):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 120, shape)
    image[: shape[0] // 2, : shape[1] // 3] += 100
    return ImageSample(id=f"p{seed}", image=image.astype(np.uint8))


def support(seed=1, window=(slice(10, 33), slice(20, 50)), shape=(*SHAPE, 3)):
    sample = photograph(seed, shape)
    mask = np.zeros(sample.shape, bool)
    mask[window] = True
    return Support(sample, mask)


def ask(*supports):
    return Dialogue().ask(supports)


def library_pixels(family, side, image):
    """Pixels as the library prepares them, and a function from low-resolution planes to planes of the image."""
    import torch

    height, width = image.shape[:2]
    if family in ("sam", "sam-hq"):
        from transformers.models.sam.image_processing_pil_sam import SamImageProcessorPil

        square = {"height": side, "width": side}
        processor = SamImageProcessorPil(size={"longest_edge": side}, pad_size=square)
        given = processor(images=image, return_tensors="pt")
        sizes = given["original_sizes"], given["reshaped_input_sizes"]
        return given["pixel_values"], lambda low: processor.post_process_masks(
            [low], *sizes, binarize=False
        )[0]
    planes = torch.from_numpy(image).permute(2, 0, 1)[None].contiguous()
    planes = torch.nn.functional.interpolate(planes, (side, side), mode="bilinear", antialias=True)
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    if family == "sam3-tracker":
        mean = std = (0.5, 0.5, 0.5)
    pixels = ((planes.double() / 255).float() - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(
        std
    ).view(3, 1, 1)
    return pixels, lambda low: torch.nn.functional.interpolate(
        low, (height, width), mode="bilinear"
    )


def embedded(model, pixels):
    embeddings = model.get_image_embeddings(pixels)
    if isinstance(embeddings, tuple):  # SAM-HQ gives its early layers too
        embeddings = embeddings[0]
    return (embeddings[-1] if isinstance(embeddings, list) else embeddings)[0]


def slow_persam(model, family, query, supports, points, refinements=2):
    """The paper's steps one after the other on the whole model of the library, with a pass of the encoder for each.

    The similarity is about equal along the edge of the image, and how a processor rounds decides where it is
    highest there. So the points are given, and must be as good as the best ones.
    """
    import torch

    side = model.config.prompt_encoder_config.image_size
    padded = family in ("sam", "sam-hq")
    with torch.no_grad():
        targets = []
        for each in supports:
            features = embedded(model, library_pixels(family, side, each.sample.image)[0])
            rows, columns = (6, 8) if padded else (8, 8)
            fine = (
                each.mask.repeat(rows, 0)
                .repeat(columns, 1)
                .reshape(rows, SHAPE[0], columns, SHAPE[1])
            )
            shares = torch.from_numpy(fine.mean((1, 3))).float()
            targets.append((features[:, :rows, :columns] * shares).sum((1, 2)) / shares.sum())
        target = sum(targets) / len(targets)
        pixels, enlarge = library_pixels(family, side, query.image)
        features = embedded(model, pixels)
        cosines = torch.nn.functional.cosine_similarity(features, target[:, None, None], dim=0)
        full = enlarge(
            torch.nn.functional.interpolate(cosines[None, None], scale_factor=4, mode="bilinear")
        )[0, 0]
        inner = (96, 128) if padded else (side, side)
        scale = np.array([inner[1] / SHAPE[1], inner[0] / SHAPE[0]])
        columns, rows = np.rint(points.numpy() / scale).astype(int).T
        found = full[rows, columns]
        assert torch.allclose(found, torch.stack([full.max(), full.min()]), atol=1e-4)
        prompts = {
            "input_points": points[None, None],
            "input_labels": torch.tensor([[[1, 0]]], dtype=torch.int32),
        }
        guided = ((cosines - full.mean()) / full.std(unbiased=False)).sigmoid().reshape(1, 1, 1, -1)
        answer = model(
            pixels,
            **prompts,
            multimask_output=False,
            attention_similarity=guided,
            target_embedding=target.reshape(1, 1, 1, -1),
        )
        for step in range(1, 1 + refinements):
            best = int(answer.iou_scores[0, 0].argmax())
            low = answer.pred_masks[:, 0, best][None]
            if step == 2:
                rows, columns = np.nonzero(enlarge(low)[0, 0].numpy() > 0)
                corners = (
                    np.array([[columns.min(), rows.min()], [columns.max(), rows.max()]]) * scale
                )
                prompts["input_boxes"] = torch.tensor(corners).reshape(1, 1, 4).to(points.dtype)
            low = low if padded else low.clamp(-32, 32)
            answer = model(pixels, **prompts, input_masks=low, multimask_output=True)
        best = int(answer.iou_scores[0, 0].argmax())
        return enlarge(answer.pred_masks[:, 0, best][None])[0, 0].numpy() > 0, float(
            answer.iou_scores[0, 0, best]
        )


@pytest.mark.parametrize("refinements", [0, 1, 2])
@pytest.mark.parametrize("family", FAMILIES)
def test_masks_are_those_of_the_papers_steps_on_the_librarys_model(
    family, refinements, build, monkeypatch
):
    segmenter, query, example = build(family, refinements=refinements), photograph(), support()
    answer, points = watched_answer(segmenter, query, [example], monkeypatch)
    mask, score = slow_persam(
        segmenter.network.model, family, query, [example], points, refinements
    )
    assert 0.005 < mask.mean() < 0.995
    assert (answer.mask == mask).mean() > 0.999
    # Each refinement amplifies how a processor rounds: 1.5e-4 was seen on one, less than 1e-4 on others.
    assert answer.score == pytest.approx(score, abs=1e-3)
    assert answer.logits is None


def test_of_several_supports_the_targets_are_averaged(build, monkeypatch):
    segmenter, query = build("sam", refinements=0), photograph()
    examples = [
        support(1),
        support(2, (slice(0, 9), slice(60, 80))),
        support(3, (slice(40, 60), slice(0, 80))),
    ]
    answer, points = watched_answer(segmenter, query, examples, monkeypatch)
    mask, _ = slow_persam(segmenter.network.model, "sam", query, examples, points, 0)
    assert (answer.mask == mask).mean() > 0.999


def watched(segmenter, monkeypatch):
    """The arguments of every pass of the whole model from now on."""
    calls, forward = [], segmenter.network.model.forward
    monkeypatch.setattr(
        segmenter.network.model, "forward", lambda **how: calls.append(how) or forward(**how)
    )
    return calls


def watched_answer(segmenter, query, examples, monkeypatch):
    """The answer, and the points of its first pass: (x, y) in the network's square."""
    with monkeypatch.context() as patch:
        calls = watched(segmenter, patch)
        (answer,) = segmenter.predict(segmenter.encode(query), [ask(*examples)])
    return answer, calls[0]["input_points"][0, 0]


def with_embedding(encoded, features):
    """The encoding with another embedding, whose channels are given from the first on and else 0."""
    from dataclasses import replace

    import torch

    whole = torch.zeros_like(encoded.embeddings["image_embeddings"])
    whole[0, : len(features)] = torch.as_tensor(features)
    return replace(encoded, embeddings={"image_embeddings": whole})


def test_points_lie_where_the_image_is_most_and_least_alike_and_attention_goes_there(
    build, monkeypatch
):
    segmenter = build("sam", refinements=0)
    example = support(window=(slice(0, 30), slice(0, 40)))
    shown = np.zeros((2, 8, 8), np.float32)
    shown[0, :3, :4] = 2.0  # what the mask covers
    shown[1] = 1 - shown[0] / 2
    seen = np.zeros((2, 8, 8), np.float32)
    seen[1] = 1.0
    seen[:, 4, 6] = 5.0, 0.0  # pixels 40..49, 60..69
    seen[:, 1, 2] = -1.0, 0.0  # pixels 10..19, 20..29
    encoded = segmenter.encode(photograph())
    calls = watched(segmenter, monkeypatch)
    prompt = Support(example.sample, example.mask, encoded=with_embedding(encoded, shown))
    segmenter.predict(with_embedding(encoded, seen), [ask(prompt)])
    (call,) = calls
    assert np.allclose(call["target_embedding"].flatten()[:3], [2.0, 0.0, 0.0], atol=1e-5)
    points = call["input_points"][0, 0].numpy() / 1.6  # (x, y)
    assert (np.abs(points - [[64.5, 44.5], [24.5, 14.5]]) < 1).all()
    assert call["input_labels"].flatten().tolist() == [1, 0]
    drawn = call["attention_similarity"].reshape(8, 8)
    assert drawn[4, 6] == drawn.max() > 0.9
    assert drawn[1, 2] == drawn.min() < 0.1
    assert call["multimask_output"] is False


def test_refinements_are_given_logits_and_then_the_box(build, monkeypatch):
    segmenter = build("sam")
    encoded = segmenter.encode(photograph())
    calls = watched(segmenter, monkeypatch)
    segmenter.predict(encoded, [ask(support())])
    assert ["attention_similarity" in call for call in calls] == [True, False, False]
    assert ["target_embedding" in call for call in calls] == [True, False, False]
    assert ["input_masks" in call for call in calls] == [False, True, True]
    assert ["input_boxes" in call for call in calls] == [False, False, True]
    assert [call["multimask_output"] for call in calls] == [False, True, True]


def test_a_mask_without_a_pixel_has_no_box_and_is_the_answer(build, monkeypatch):
    segmenter = build("sam", threshold=1e9)
    encoded = segmenter.encode(photograph())
    calls = watched(segmenter, monkeypatch)
    (answer,) = segmenter.predict(encoded, [ask(support())])
    assert not answer.mask.any()
    assert len(calls) == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_a_stored_dialogue_is_replayed_from_a_packed_encoding(family, build):
    live, query = build(family), photograph()
    encoded = live.encode(query)
    first = ask(support(1))
    (answer,) = live.predict(encoded, [first])
    second = first.answer(answer).ask((support(2),))
    (later,) = live.predict(encoded, [second])
    fresh = build(family)
    read = fresh.unpack({name: np.array(array) for name, array in live.pack(encoded).items()})
    stored = Dialogue(second.rounds, Prediction(answer.mask.copy()))
    assert np.array_equal(fresh.predict(read, [stored])[0].mask, later.mask)
    assert fresh.fingerprint == live.fingerprint
    assert fresh.device == "cpu"


@pytest.mark.parametrize("family", IN_BATCHES)
def test_a_batch_gives_what_single_calls_give(family, build):
    segmenter, query = build(family), photograph()
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
        (alone,) = segmenter.predict(encoded, [dialogue])
        assert np.array_equal(alone.mask, batched.mask)
        assert np.array_equal(alone.mask, turned.mask)


@pytest.mark.parametrize("family", IN_BATCHES)
def test_targets_decoded_together_are_those_decoded_alone(family, build):
    segmenter, query = build(family), photograph()
    encoded, dialogues = segmenter.encode(query), [ask(support(seed)) for seed in range(1, 6)]
    alone = segmenter.predict(encoded, dialogues)
    segmenter.network.batches.size = 3  # as on a GPU
    for one, other in zip(alone, segmenter.predict(encoded, dialogues), strict=True):
        assert (one.mask == other.mask).mean() > 0.99


def test_each_image_is_encoded_once_and_equal_dialogues_decoded_once(build, monkeypatch):
    segmenter, passes = build("sam"), []
    model = segmenter.network.model
    encode = model.get_image_embeddings
    monkeypatch.setattr(
        model, "get_image_embeddings", lambda *given: passes.append(1) or encode(*given)
    )
    examples = [support(1), support(2)]
    given = Support(
        examples[1].sample, examples[1].mask, encoded=segmenter.encode(examples[1].sample)
    )
    encoded = segmenter.encode(photograph())
    assert len(passes) == 2
    calls = watched(segmenter, monkeypatch)
    segmenter.predict(
        encoded, [ask(examples[0]), ask(examples[0], given), ask(given), ask(examples[0])]
    )
    assert len(passes) == 3
    assert len(calls) == 3 * 3


@pytest.mark.parametrize("family", ["sam", "sam2"])
@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 400, 3), (3000, 2, 3), (30, 40)])
def test_odd_and_grey_images_are_taken(family, shape, build):
    segmenter = build(family)
    query, example = photograph(shape=shape), support(2, (slice(0, 1), slice(0, 1)), shape)
    (answer,) = segmenter.predict(segmenter.encode(query), [ask(example)])
    assert answer.mask.shape == shape[:2]
    assert answer.mask.dtype == bool


def test_a_support_that_shows_nothing_has_no_target(build):
    segmenter = build()
    encoded = segmenter.encode(photograph())
    empty, full = support(3, (slice(0, 0), slice(0, 0))), support()
    nothing, both, alone = segmenter.predict(encoded, [ask(empty), ask(empty, full), ask(full)])
    assert not nothing.mask.any()
    assert alone.mask.any()
    assert np.array_equal(both.mask, alone.mask)


def test_other_prompts_and_samples_are_refused(build):
    segmenter = build()
    encoded = segmenter.encode(photograph())
    with pytest.raises(SegmenterError, match="expected prompts of kind support"):
        segmenter.predict(encoded, [Dialogue().ask((Click((3, 3)),))])
    with pytest.raises(SegmenterError, match="persam accepts only images, got a VolumeSample"):
        segmenter.encode(
            VolumeSample(id="v", voxels=np.zeros((2, 3, 4)), spacing_mm=(1.0, 1.0, 1.0))
        )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("family='clipseg'", "expected one of 'sam', 'sam-hq', 'sam2', 'edgetam', 'sam3-tracker'"),
        ("refinements=3", "refinements: expected one of 0, 1, 2"),
        ("device='cuda:9'", "does not exist"),
        ("dtype='int8'", "expected one of 'float32'"),
        ("batch_size=0", "whole number of at least 1"),
    ],
)
def test_options_that_do_not_exist_are_refused_before_weights_are_read(option, message):
    pytest.importorskip("torch")
    with pytest.raises(PluginInvalid, match=message):
        registry.build("segmenter", f"persam(weights='nowhere', {option})")


def test_weights_of_another_family_are_refused(build, folder_of):
    with pytest.raises(InvalidInput, match="it is of the family 'sam'"):
        build("sam2", weights=str(folder_of("sam")))


def test_half_precision_gives_nearly_the_same(build):
    query, dialogue = photograph(), ask(support())
    full, half = build("sam", refinements=0), build("sam", refinements=0, dtype="bfloat16")
    (first,), (second,) = (one.predict(one.encode(query), [dialogue]) for one in (full, half))
    assert (first.mask == second.mask).mean() > 0.9


def test_a_network_that_gives_nan_is_reported(build):
    import torch

    segmenter = build()
    with torch.no_grad():
        segmenter.network.model.mask_decoder.upscale_conv1.bias.fill_(float("nan"))
    with pytest.raises(PredictionInvalid, match="NaN"):
        segmenter.predict(segmenter.encode(photograph()), [ask(support())])
