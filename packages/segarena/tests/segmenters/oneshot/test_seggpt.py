from __future__ import annotations

import numpy as np
import pytest

from segarena import registry
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid, PredictionInvalid, SegmenterError
from segarena.prompts import Click
from segarena.samples import ImageSample, Support, VolumeSample


@pytest.fixture
def folder(folder_of):
    return folder_of("seggpt")


def build(folder, **options):
    more = "".join(f", {name}={value!r}" for name, value in {"device": "cpu", **options}.items())
    return registry.build("segmenter", f"seggpt(weights={str(folder)!r}{more})")


def photograph(seed=0, shape=(50, 70, 3)):
    image = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    return ImageSample(id=f"p{seed}", image=image)


def support(seed=1, window=(slice(10, 30), slice(20, 50)), shape=(45, 60, 3)):
    sample = photograph(seed, shape)
    mask = np.zeros(sample.shape, bool)
    mask[window] = True
    return Support(sample, mask)


def ask(*supports):
    return Dialogue().ask(supports)


def library():
    from transformers import SegGptImageProcessorPil

    return SegGptImageProcessorPil(size={"height": 32, "width": 32})


def library_inputs(query, supports):
    return library()(
        images=[query.image] * len(supports),
        prompt_images=[each.sample.image for each in supports],
        prompt_masks=[each.mask.astype(np.uint8) for each in supports],
        num_labels=1,
        return_tensors="pt",
    )


def library_mask(painted, shape):
    from types import SimpleNamespace

    outputs = SimpleNamespace(pred_masks=painted[:1])
    return (
        library()
        .post_process_semantic_segmentation(outputs, target_sizes=[shape], num_labels=1)[0]
        .numpy()
        == 1
    )


def painted_as_published(model, inputs):
    """The network with several supports, layer by layer as the paper's code goes through them."""
    import torch

    def average_over_supports(attended, kinds):
        upper, lower = attended.chunk(2, dim=1)
        lower = lower.reshape(kinds, -1, *lower.shape[1:])
        lower = lower.mean(dim=1, keepdim=True).expand_as(lower).reshape(upper.shape)
        return torch.cat([upper, lower], dim=1)

    encoder, embeddings = model.model.encoder, model.model.embeddings
    images = torch.cat([inputs.prompt_pixel_values, inputs.pixel_values], dim=2)
    masks = torch.cat([inputs.prompt_masks, inputs.prompt_masks], dim=2)
    patches = images.shape[2] // 8 * (images.shape[3] // 8)
    is_masked = torch.arange(patches)[None] >= patches // 2
    hidden, kept = embeddings(images, masks, is_masked), []
    for index, layer in enumerate(encoder.layers):
        kinds = 2 if index <= model.config.merge_index else 1
        hidden = hidden + average_over_supports(
            layer.attention(layer.layernorm_before(hidden))[0], kinds
        )
        hidden = hidden + layer.mlp(layer.layernorm_after(hidden))
        if index == model.config.merge_index:
            first, second = hidden.chunk(2)
            hidden = (first + second) / 2
        if index in model.config.intermediate_hidden_state_indices:
            kept.append(encoder.layernorm(hidden))
    return model.decoder(torch.cat(kept, dim=-1))


def model_of(folder):
    from transformers import SegGptForImageSegmentation

    return SegGptForImageSegmentation.from_pretrained(folder).eval()


@pytest.mark.parametrize("embedding_type", ["instance", "semantic"])
def test_masks_are_those_of_the_librarys_own_pipeline(folder, embedding_type):
    import torch

    segmenter, query, example = (
        build(folder, embedding_type=embedding_type),
        photograph(),
        support(),
    )
    (answer,) = segmenter.predict(segmenter.encode(query), [ask(example)])
    with torch.no_grad():
        painted = model_of(folder)(
            **library_inputs(query, [example]), embedding_type=embedding_type
        ).pred_masks
    expected = library_mask(painted, query.shape)
    assert 0.02 < expected.mean() < 0.98
    assert np.array_equal(answer.mask, expected)


@pytest.mark.parametrize("count", [2, 3])
def test_several_supports_are_an_ensemble_as_published(folder, count):
    import torch

    segmenter, query = build(folder), photograph()
    examples = [support(seed) for seed in range(1, count + 1)]
    (answer,) = segmenter.predict(segmenter.encode(query), [ask(*examples)])
    inputs, model = library_inputs(query, examples), model_of(folder)
    with torch.no_grad():
        expected = library_mask(painted_as_published(model, inputs), query.shape)
        single = library_mask(model(**library_inputs(query, examples[:1])).pred_masks, query.shape)
        unrepaired = library_mask(model(**inputs, feature_ensemble=True).pred_masks, query.shape)
    assert (answer.mask == expected).mean() > 0.999  # means round otherwise in another order
    assert (answer.mask == single).mean() < 0.99
    assert (answer.mask == unrepaired).mean() < 0.99


def test_what_was_encoded_of_a_support_is_taken(folder, monkeypatch):
    segmenter, query, example = build(folder), photograph(), support()
    encoded, shown = segmenter.encode(query), segmenter.encode(example.sample)
    (expected,) = segmenter.predict(encoded, [ask(example)])
    monkeypatch.setattr(type(segmenter), "encode", None)
    (answer,) = segmenter.predict(
        encoded, [ask(Support(example.sample, example.mask, encoded=shown))]
    )
    assert np.array_equal(answer.mask, expected.mask)


def test_equal_supports_are_painted_once(folder, monkeypatch):
    segmenter, rows = build(folder), []
    forward = segmenter.model.forward
    monkeypatch.setattr(
        segmenter.model,
        "forward",
        lambda **how: rows.append(len(how["pixel_values"])) or forward(**how),
    )
    examples = [support(1), support(2)]
    segmenter.predict(
        segmenter.encode(photograph()),
        [ask(examples[0]), ask(*examples), ask(examples[1]), ask(examples[0])],
    )
    assert rows == [1, 1, 2]


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


def test_pairs_painted_together_are_those_painted_alone(folder):
    segmenter, query = build(folder), photograph()
    encoded, dialogues = segmenter.encode(query), [ask(support(seed)) for seed in range(1, 6)]
    alone = segmenter.predict(encoded, dialogues)
    segmenter.batches.size = 3  # as on a GPU
    for one, other in zip(alone, segmenter.predict(encoded, dialogues), strict=True):
        assert (one.mask == other.mask).mean() > 0.999


def test_a_stored_dialogue_is_replayed(folder):
    live, query = build(folder), photograph()
    first = ask(support(1))
    (answer,) = live.predict(live.encode(query), [first])
    second = first.answer(answer).ask((support(2),))
    (later,) = live.predict(live.encode(query), [second])
    fresh = build(folder)
    stored = Dialogue(second.rounds, Prediction(answer.mask.copy(), answer.logits))
    assert np.array_equal(fresh.predict(fresh.encode(query), [stored])[0].mask, later.mask)


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 400, 3), (400, 1, 3), (30, 40)])
def test_odd_and_grey_images_are_taken(folder, shape):
    segmenter, query = build(folder), photograph(shape=shape)
    example = support(2, (slice(0, 1), slice(0, 1)), shape)
    (answer,) = segmenter.predict(segmenter.encode(query), [ask(example)])
    assert answer.mask.shape == shape[:2]
    assert answer.mask.dtype == bool


def test_a_support_that_shows_nothing_is_painted_black_and_asked_about(folder):
    segmenter, query = build(folder), photograph()
    empty = support(window=(slice(0, 0), slice(0, 0)))
    (answer,) = segmenter.predict(segmenter.encode(query), [ask(empty)])
    import torch

    with torch.no_grad():
        painted = model_of(folder)(**library_inputs(query, [empty])).pred_masks
    assert np.array_equal(answer.mask, library_mask(painted, query.shape))


def test_other_prompts_and_samples_are_refused(folder):
    segmenter = build(folder)
    encoded = segmenter.encode(photograph())
    with pytest.raises(SegmenterError, match="expected prompts of kind support"):
        segmenter.predict(encoded, [Dialogue().ask((Click((3, 3)),))])
    with pytest.raises(SegmenterError, match="seggpt accepts only images, got a VolumeSample"):
        segmenter.encode(
            VolumeSample(id="v", voxels=np.zeros((2, 3, 4)), spacing_mm=(1.0, 1.0, 1.0))
        )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("embedding_type='object'", "expected one of 'instance', 'semantic'"),
        ("threshold=1.0", "expected a grey value of at least 0 and less than 1"),
        ("device='cuda:9'", "does not exist"),
        ("dtype='int8'", "expected one of 'float32'"),
        ("batch_size=0", "whole number of at least 1"),
    ],
)
def test_options_that_do_not_exist_are_refused_before_weights_are_read(option, message):
    pytest.importorskip("torch")
    with pytest.raises(PluginInvalid, match=message):
        registry.build("segmenter", f"seggpt(weights='nowhere', {option})")


def test_half_precision_gives_nearly_the_same(folder):
    query, dialogue = photograph(), ask(support())
    full, half = build(folder), build(folder, dtype="bfloat16")
    (first,), (second,) = (one.predict(one.encode(query), [dialogue]) for one in (full, half))
    assert (first.mask == second.mask).mean() > 0.95


def test_a_network_that_gives_nan_is_reported(folder):
    import torch

    segmenter = build(folder)
    with torch.no_grad():
        segmenter.model.decoder.decoder_pred.head.bias.fill_(float("nan"))
    with pytest.raises(PredictionInvalid, match="NaN"):
        segmenter.predict(segmenter.encode(photograph()), [ask(support())])
