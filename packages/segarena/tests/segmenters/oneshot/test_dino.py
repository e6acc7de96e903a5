from __future__ import annotations

import numpy as np
import pytest

from segarena import registry
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput, PluginInvalid, PredictionInvalid, SegmenterError
from segarena.prompts import Click
from segarena.samples import ImageSample, Support, VolumeSample
from segarena.segmenters.oneshot.dino import PatchFeatures

MODELS = {"dinov2": "dinov2", "registers": "dinov2", "vit": "dinov3", "convnext": "dinov3"}
SIDES = {"dinov2": 70, "registers": 80, "vit": 80, "convnext": 160}  # all of them 5 patches


def tiny(name):
    import transformers

    vit = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "layerscale_value": 1.0,
    }
    if name == "dinov2":
        return transformers.Dinov2Model(
            transformers.Dinov2Config(**vit, mlp_ratio=2, image_size=56, patch_size=14)
        )
    if name == "registers":
        config = transformers.Dinov2WithRegistersConfig(
            **vit, mlp_ratio=2, image_size=64, patch_size=16, num_register_tokens=4
        )
        return transformers.Dinov2WithRegistersModel(config)
    if name == "vit":
        config = transformers.DINOv3ViTConfig(
            **vit, intermediate_size=32, patch_size=16, num_register_tokens=3
        )
        return transformers.DINOv3ViTModel(config)
    config = transformers.DINOv3ConvNextConfig(
        hidden_sizes=[4, 8, 12, 16], depths=[1, 1, 1, 1], layer_scale_init_value=1.0
    )
    return transformers.DINOv3ConvNextModel(config)


@pytest.fixture(scope="module")
def folders(tmp_path_factory, tiny_model):  # which sees to the threads
    import torch

    made = {}
    with torch.random.fork_rng():
        for name in MODELS:
            torch.manual_seed(2)
            made[name] = tmp_path_factory.mktemp("weights") / name
            model = tiny(name)
            for weight in model.parameters():
                if weight.ndim > 1:  # the initial ones are so small that all patches are alike
                    torch.nn.init.normal_(weight, 0, 1 / weight[0].numel() ** 0.5)
            model.save_pretrained(made[name])
    return made


@pytest.fixture(scope="module")
def folder(folders):
    return folders["dinov2"]


def build(folder, name="dinov2", **options):
    given = {"family": MODELS[name], "side_px": SIDES[name], "device": "cpu", **options}
    more = "".join(f", {key}={value!r}" for key, value in given.items())
    return registry.build("segmenter", f"dino(weights={str(folder)!r}{more})")


def photograph(seed=0, shape=(60, 100, 3)):
    image = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    return ImageSample(id=f"p{seed}", image=image)


def support(seed=1, window=(slice(10, 35), slice(20, 70)), shape=(60, 100, 3)):
    sample = photograph(seed, shape)
    mask = np.zeros(sample.shape, bool)
    mask[window] = True
    return Support(sample, mask)


def ask(*supports):
    return Dialogue().ask(supports)


def library_features(folder, name, image, grid):
    """Unit features of the patches by the library's own classes, float64 (rows * columns, channels)."""
    import torch
    import transformers

    prefix = {"dinov2": 1, "registers": 5, "vit": 4, "convnext": 1}[name]
    patch = SIDES[name] // 5
    processor = (
        transformers.BitImageProcessorPil
        if MODELS[name] == "dinov2"
        else transformers.ViTImageProcessorPil
    )
    pixels = processor(
        size={"height": patch * grid[0], "width": patch * grid[1]},
        do_center_crop=False,
        image_mean=[0.485, 0.456, 0.406],
        image_std=[0.229, 0.224, 0.225],
    )(image, return_tensors="pt").pixel_values
    with torch.no_grad():
        tokens = (
            transformers.AutoModel.from_pretrained(folder)
            .eval()(pixels)
            .last_hidden_state[0]
            .double()
            .numpy()
        )
    assert len(tokens) == prefix + grid[0] * grid[1]
    return tokens[prefix:] / np.linalg.norm(tokens[prefix:], axis=1, keepdims=True)


def shares(mask, grid):
    rows, columns = grid
    fine = mask.repeat(rows, 0).repeat(columns, 1)
    return fine.reshape(rows, mask.shape[0], columns, mask.shape[1]).mean((1, 3)).ravel()


def slow_scores(folder, name, query, supports, grid=(3, 5)):
    """PANet's rule in float64: two means, two cosines, a difference, upsampled."""
    import torch

    inside, outside = [], []
    for each in supports:
        features, share = (
            library_features(folder, name, each.sample.image, grid),
            shares(each.mask, grid),
        )
        inside.append(share @ features / share.sum())
        outside.append((1 - share) @ features / (1 - share).sum())
    object_, background = (sum(parts) / np.linalg.norm(sum(parts)) for parts in (inside, outside))
    patches = library_features(folder, name, query.image, grid)
    scores = torch.from_numpy((patches @ object_ - patches @ background).reshape(1, 1, *grid))
    return torch.nn.functional.interpolate(
        scores, query.shape, mode="bilinear", align_corners=False
    )[0, 0].numpy()


@pytest.mark.parametrize("name", MODELS)
def test_masks_are_those_of_a_straight_pipeline_of_the_librarys_classes(name, folders):
    segmenter, query, example = build(folders[name], name), photograph(), support()
    (answer,) = segmenter.predict(segmenter.encode(query), [ask(example)])
    scores = slow_scores(folders[name], name, query, [example])
    assert 0.02 < answer.mask.mean() < 0.98
    sure = np.abs(scores) > 1e-5
    assert sure.mean() > 0.99
    assert np.array_equal(answer.mask[sure], scores[sure] > 0)


@pytest.mark.parametrize("name", MODELS)
def test_features_are_the_librarys_without_its_other_tokens(name, folders):
    encoded = build(folders[name], name).encode(photograph())
    expected = library_features(folders[name], name, photograph().image, (3, 5))
    found = encoded.features.flatten(0, 1).double().numpy()
    assert encoded.features.shape[:2] == (3, 5)
    assert np.allclose(found / np.linalg.norm(found, axis=1, keepdims=True), expected, atol=1e-5)


def test_several_supports_weigh_equally(folder):
    segmenter, query = build(folder), photograph()
    examples = [
        support(1),
        support(2, (slice(0, 5), slice(0, 5))),
        support(3, (slice(30, 60), slice(0, 100))),
    ]
    (answer,) = segmenter.predict(segmenter.encode(query), [ask(*examples)])
    scores = slow_scores(folder, "dinov2", query, examples)
    sure = np.abs(scores) > 1e-5
    assert sure.mean() > 0.99
    assert np.array_equal(answer.mask[sure], scores[sure] > 0)
    assert (
        answer.mask == segmenter.predict(segmenter.encode(query), [ask(examples[0])])[0].mask
    ).mean() < 0.99


def hand_made(segmenter, degrees, shape, image=None):
    """An encoding whose features are the rays of these angles."""
    import torch

    angles = torch.deg2rad(torch.tensor(degrees, dtype=torch.float32))
    pixels = np.zeros((0, 1, 3), np.uint8) if image is None else image
    return PatchFeatures(shape, torch.stack([angles.cos(), angles.sin()], dim=-1), pixels)


def test_a_patch_goes_with_the_nearer_prototype(folder):
    segmenter = build(folder)
    example = support(
        shape=(4, 4, 3), window=(slice(0, 2), slice(0, 4))
    )  # the upper row of patches
    shown = hand_made(segmenter, [[0.0, 10.0], [90.0, 100.0]], (4, 4))
    query = hand_made(
        segmenter, [[45.0, 49.0, 51.0, 180.0]], (1, 4)
    )  # between prototypes of 5 and 95 degrees
    (answer,) = segmenter.predict(
        query, [ask(Support(example.sample, example.mask, encoded=shown))]
    )
    assert answer.mask.tolist() == [[True, True, False, False]]


def test_without_background_the_threshold_is_of_the_cosine_alone(folder):
    segmenter = build(folder, threshold=0.5)
    example = support(shape=(4, 4, 3), window=(slice(0, 4), slice(0, 4)))
    shown = hand_made(segmenter, [[0.0, 0.0], [0.0, 0.0]], (4, 4))
    query = hand_made(segmenter, [[0.0, 59.0, 61.0, 180.0]], (1, 4))
    (answer,) = segmenter.predict(
        query, [ask(Support(example.sample, example.mask, encoded=shown))]
    )
    assert answer.mask.tolist() == [[True, True, False, False]]


def test_objects_of_two_looks_need_two_prototypes(folder):
    example = support(shape=(4, 4, 3), window=(slice(0, 2), slice(0, 4)))
    query = [[0.0, 90.0, 45.0, 45.0]]
    masks = {}
    for count in (1, 2):
        segmenter = build(folder, prototypes=count)
        shown = hand_made(segmenter, [[0.0, 90.0], [45.0, 45.0]], (4, 4))
        dialogue = ask(Support(example.sample, example.mask, encoded=shown))
        masks[count] = segmenter.predict(hand_made(segmenter, query, (1, 4)), [dialogue])[
            0
        ].mask.tolist()
    assert masks[1] == [[False] * 4]  # the mean of both looks is the background
    assert masks[2] == [[True, True, False, False]]


def test_upsampling_has_pixel_centres_at_halves(folder):
    segmenter = build(folder)
    example = support(shape=(4, 4, 3), window=(slice(0, 2), slice(0, 4)))
    shown = hand_made(segmenter, [[0.0, 0.0], [90.0, 90.0]], (4, 4))
    query = hand_made(segmenter, [[0.0, 90.0]], (1, 8))  # scores 1 and -1, 0 in the middle
    (answer,) = segmenter.predict(
        query, [ask(Support(example.sample, example.mask, encoded=shown))]
    )
    assert answer.mask.tolist() == [[True] * 4 + [False] * 4]


def test_grabcut_moves_the_border_to_the_colours(folder):
    image = np.full((40, 60, 3), (200, 40, 40), np.uint8)
    image[:, 37:] = (30, 60, 190)
    example = support(shape=(4, 4, 3), window=(slice(0, 2), slice(0, 4)))
    masks = {}
    for refine in ("none", "grabcut"):
        segmenter = build(folder, refine=refine)
        shown = hand_made(segmenter, [[0.0, 0.0], [90.0, 90.0]], (4, 4))
        query = hand_made(segmenter, [[0.0, 90.0]], (40, 60), image)
        (answer,) = segmenter.predict(
            query, [ask(Support(example.sample, example.mask, encoded=shown))]
        )
        masks[refine] = answer.mask
    assert masks["none"][:, :30].all()
    assert not masks["none"][:, 30:].any()
    assert masks["grabcut"][:, :37].all()
    assert not masks["grabcut"][:, 37:].any()


def test_a_stored_dialogue_is_replayed_from_a_packed_encoding(folder):
    live, query = build(folder, refine="grabcut", prototypes=3), photograph()
    encoded = live.encode(query)
    first = ask(support(1))
    (answer,) = live.predict(encoded, [first])
    second = first.answer(answer).ask((support(2),))
    (later,) = live.predict(encoded, [second])
    fresh = build(folder, refine="grabcut", prototypes=3)
    read = fresh.unpack({name: np.array(array) for name, array in live.pack(encoded).items()})
    stored = Dialogue(second.rounds, Prediction(answer.mask.copy(), answer.logits))
    assert np.array_equal(fresh.predict(read, [stored])[0].mask, later.mask)
    assert fresh.fingerprint == live.fingerprint
    assert fresh.device == "cpu"


def test_a_batch_gives_what_single_calls_give(folder):
    segmenter, query = build(folder, prototypes=2, background_prototypes=3), photograph()
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
        (alone,) = build(folder, prototypes=2, background_prototypes=3).predict(encoded, [dialogue])
        assert np.array_equal(alone.mask, batched.mask)
        assert np.array_equal(alone.mask, turned.mask)


def test_each_image_is_encoded_once(folder, monkeypatch):
    segmenter, passes = build(folder), []
    forward = segmenter.model.forward
    monkeypatch.setattr(
        segmenter.model, "forward", lambda *given: passes.append(1) or forward(*given)
    )
    examples = [support(1), support(2)]
    given = Support(
        examples[1].sample, examples[1].mask, encoded=segmenter.encode(examples[1].sample)
    )
    encoded = segmenter.encode(photograph())
    assert len(passes) == 2
    segmenter.predict(
        encoded, [ask(examples[0]), ask(*examples[:1], given), ask(given), ask(examples[0])]
    )
    assert len(passes) == 3


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 400, 3), (3000, 2, 3), (30, 40)])
def test_odd_and_grey_images_are_taken(name, folders, shape):
    segmenter = build(folders[name], name, refine="grabcut")
    query, example = photograph(shape=shape), support(2, (slice(0, 1), slice(0, 1)), shape)
    (answer,) = segmenter.predict(segmenter.encode(query), [ask(example)])
    assert answer.mask.shape == shape[:2]
    assert answer.mask.dtype == bool


def test_a_support_that_shows_nothing_adds_to_the_background_alone(folder):
    segmenter = build(folder)
    encoded = segmenter.encode(photograph())
    empty, full = support(3, (slice(0, 0), slice(0, 0))), support()
    nothing, both, alone = segmenter.predict(encoded, [ask(empty), ask(empty, full), ask(full)])
    assert not nothing.mask.any()
    assert both.mask.any()
    assert not np.array_equal(both.mask, alone.mask)
    everything = Support(full.sample, np.ones(full.mask.shape, bool))
    (one,) = segmenter.predict(
        encoded, [ask(everything, Support(full.sample, np.zeros(full.mask.shape, bool)))]
    )
    assert not one.mask.any()  # what stands for the object is what stands for the background


def test_other_prompts_and_samples_are_refused(folder):
    segmenter = build(folder)
    encoded = segmenter.encode(photograph())
    with pytest.raises(SegmenterError, match="expected prompts of kind support"):
        segmenter.predict(encoded, [Dialogue().ask((Click((3, 3)),))])
    with pytest.raises(SegmenterError, match="dino accepts only images, got a VolumeSample"):
        segmenter.encode(
            VolumeSample(id="v", voxels=np.zeros((2, 3, 4)), spacing_mm=(1.0, 1.0, 1.0))
        )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("family='dino'", "expected one of 'dinov2', 'dinov3'"),
        ("refine='crf'", "expected one of 'none', 'grabcut'"),
        ("side_px=0", "side_px=0: expected a whole number of at least 1"),
        ("prototypes=1.5", "prototypes: expected a whole number"),
        ("background_prototypes=-1", "expected a whole number"),
        ("device='cuda:9'", "does not exist"),
        ("dtype='int8'", "expected one of 'float32'"),
    ],
)
def test_options_that_do_not_exist_are_refused_before_weights_are_read(option, message):
    pytest.importorskip("torch")
    with pytest.raises(PluginInvalid, match=message):
        registry.build("segmenter", f"dino(weights='nowhere', {option})")


def test_weights_of_the_other_family_are_refused(folders):
    with pytest.raises(InvalidInput, match="it is of the family 'dinov3'"):
        build(folders["vit"], "dinov2")


def test_half_precision_gives_nearly_the_same(folder):
    query, dialogue = photograph(), ask(support())
    full, half = build(folder), build(folder, dtype="bfloat16")
    (first,), (second,) = (one.predict(one.encode(query), [dialogue]) for one in (full, half))
    assert (first.mask == second.mask).mean() > 0.95


def test_a_network_that_gives_nan_is_reported(folder):
    import torch

    segmenter = build(folder)
    with torch.no_grad():
        segmenter.model.layernorm.bias.fill_(float("nan"))
    with pytest.raises(PredictionInvalid, match="NaN"):
        segmenter.encode(photograph())
