"""Options of all networks: formats of computation, compilation, the layout of weights, several images in a pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from segarena import evaluate, registry  # noqa: E402
from segarena.dialogue import Dialogue  # noqa: E402
from segarena.errors import PluginInvalid, SegmenterError  # noqa: E402
from segarena.prompts import Box, Click  # noqa: E402
from segarena.samples import ImageSample, Support, Target, VideoSample  # noqa: E402
from segarena.segmenters.learned.promptable import devices  # noqa: E402
from segarena.segmenters.learned.promptable.devices import MixedPrecision  # noqa: E402

SHAPE = (60, 80)
ONE_SHOT = ["clipseg", "seggpt", "dino", "persam"]


def photograph(seed=0, shape=SHAPE):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 120, (*shape, 3))
    image[10:40, 15:50] += 110
    mask = np.zeros(shape, bool)
    mask[10:40, 15:50] = True
    return ImageSample(
        id=f"p{seed}", image=image.astype(np.uint8), targets=(Target(id="0", mask=mask),)
    )


@pytest.fixture
def build(folder_of):
    def make(name, **options):
        given = {"weights": str(folder_of(name)), "device": "cpu", **options}
        written = ", ".join(f"{option}={value!r}" for option, value in given.items())
        return registry.build("segmenter", f"{name}({written})")

    return make


def answer(segmenter, name):
    """The mask of one dialogue with prompts that the segmenter understands."""
    sample = photograph()
    prompt = Click((20, 25))
    if name == "medsam":
        prompt = Box((10, 15), (40, 50))
    elif name in ONE_SHOT:
        other = photograph(1)
        prompt = Support(other, other.targets[0].mask)
    elif name == "sam2-video":
        sample = VideoSample(id="v", frames=[sample.image] * 2, frame_shape=SHAPE)
        prompt = Click((0, 20, 25))
    (found,) = segmenter.predict(segmenter.encode(sample), [Dialogue().ask((prompt,))])
    return found


@pytest.mark.parametrize(
    "name", ["sam", "sam-hq", "sam2", "sam3-tracker", "medsam", "sam2-video", *ONE_SHOT]
)
def test_answers_with_autocast_are_near_those_in_single_precision(name, build):
    plain = answer(build(name), name).mask
    cast = answer(build(name, autocast="bfloat16"), name).mask
    assert cast.shape == plain.shape
    # PerSAM places its points at the extremes of similarities, which rounding can move.
    tolerance = 0.4 if name == "persam" else 0.15
    assert (plain != cast).mean() < tolerance


def test_autocast_changes_the_logits_and_packs_them_in_the_format_of_the_weights(build):
    plain, cast = build("sam"), build("sam", autocast="float16")
    exact, rough = answer(plain, "sam").logits, answer(cast, "sam").logits
    assert rough.dtype == np.float32
    assert not np.array_equal(exact, rough)
    encoded = cast.encode(photograph())
    again = cast.unpack({name: np.array(value) for name, value in cast.pack(encoded).items()})
    dialogue = [Dialogue().ask((Click((20, 25)),))]
    assert np.array_equal(
        cast.predict(again, dialogue)[0].logits, cast.predict(encoded, dialogue)[0].logits
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"autocast": "bfloat16", "dtype": "float16"},
            "autocast='bfloat16': expected dtype='float32'",
        ),
        (
            {"tf32": True, "dtype": "bfloat16"},
            "tf32=True: expected dtype='float32', got 'bfloat16'",
        ),
        ({"tf32": True}, "tf32=True: expected a GPU, got device='cpu'"),
        ({"autocast": "int8"}, "autocast"),
        ({"image_batch": 0}, "image_batch=0: expected a whole number of at least 1"),
    ],
)
def test_options_without_effect_are_rejected(options, message, build):
    with pytest.raises(PluginInvalid, match=message):
        build("sam", **options)


def tf32_flags():
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    if hasattr(matmul, "fp32_precision"):
        return matmul.fp32_precision, cudnn.conv.fp32_precision
    return matmul.allow_tf32, cudnn.allow_tf32


@pytest.mark.parametrize("is_on", [True, False])
def test_tf32_is_set_during_calls_on_a_gpu_and_as_before_afterwards(is_on):
    before = tf32_flags()
    with MixedPrecision(device=torch.device("cuda"), is_tf32=is_on).inference():
        inside = tf32_flags()
        assert torch.is_inference_mode_enabled()
    assert set(inside) <= ({"tf32", True} if is_on else {"ieee", False})
    assert tf32_flags() == before
    with MixedPrecision(device=torch.device("cpu"), is_tf32=is_on).inference():
        assert tf32_flags() == before


@pytest.mark.long
def test_a_compiled_network_has_the_same_weights_names_and_answers(build, monkeypatch):
    compiled = []
    in_place = devices.compile_in_place

    def without_a_compiler(parts, backend="inductor"):
        compiled.extend(parts)
        # One part, and without generated code, because compiling takes long.
        in_place([fast_to_trace(compiled)], backend="eager")

    def fast_to_trace(parts):
        return next(part for part in parts if type(part).__name__ == "SamPromptEncoder")

    monkeypatch.setattr(devices, "compile_in_place", without_a_compiler)
    plain, fast = build("sam"), build("sam", compile=True)
    assert fast.network.model.vision_encoder in compiled
    assert list(fast.model.state_dict()) == list(plain.model.state_dict())
    assert fast.fingerprint == plain.fingerprint
    ours, theirs = answer(fast, "sam"), answer(plain, "sam")
    assert np.array_equal(ours.mask, theirs.mask)
    np.testing.assert_allclose(ours.logits, theirs.logits, rtol=1e-4, atol=1e-4)


def test_clip_is_compiled_where_it_is_called(build):
    segmenter = build("clipseg")
    called = []
    for part in segmenter.compiled_parts():
        part.register_forward_hook(lambda module, *_: called.append(module))
    answer(segmenter, "clipseg")
    assert set(called) == set(segmenter.compiled_parts())


@pytest.mark.parametrize("name", ["sam", "sam2", "medsam"])
def test_channels_last_moves_weights_without_changing_them(name, build):
    plain, moved = build(name), build(name, channels_last=True)
    weights = [weight for weight in moved.model.parameters() if weight.ndim == 4]
    assert all(weight.is_contiguous(memory_format=torch.channels_last) for weight in weights)
    assert moved.fingerprint == plain.fingerprint
    assert (answer(plain, name).mask != answer(moved, name).mask).mean() < 0.01


@pytest.mark.parametrize("name", ["sam", "sam-hq", "sam2", "sam3-tracker", "medsam"])
def test_a_batch_of_images_gives_the_encodings_of_single_passes(name, build):
    segmenter = build(name)
    passes = []
    segmenter.model.vision_encoder.register_forward_hook(lambda *_: passes.append(1))
    samples = [photograph(seed, shape) for seed, shape in enumerate([(60, 80), (80, 60), (50, 50)])]
    together = segmenter.encode_batch(samples)
    assert len(passes) == 1
    for sample, encoded in zip(samples, together, strict=True):
        alone = segmenter.encode(sample)
        assert encoded.space == alone.space
        ours, theirs = segmenter.pack(encoded), segmenter.pack(alone)
        assert ours.keys() == theirs.keys()
        for part in ours:
            np.testing.assert_allclose(
                ours[part].view(ours[part].dtype if part == "shape" else np.float32),
                theirs[part].view(theirs[part].dtype if part == "shape" else np.float32),
                rtol=1e-3,
                atol=1e-3,
            )
        for tensor in tensors_in(encoded.embeddings):
            # A view would keep the encodings of the whole batch in memory.
            assert tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()


def tensors_in(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [tensor for each in value for tensor in tensors_in(each)]
    return [value]


def test_images_that_do_not_fit_together_say_so(build, monkeypatch):
    segmenter = build("sam")

    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(segmenter.model, "get_image_embeddings", full)
    with pytest.raises(SegmenterError, match="out of memory while encoding 2 images"):
        segmenter.encode_batch([photograph(0), photograph(1)])


class Photographs:
    name, fingerprint = "photographs", "1"
    sample_ids = ("p0", "p1", "p2", "p3", "p4", "p5")

    def load(self, sample_id):
        return replace(photograph(int(sample_id[1:])), id=sample_id)


@pytest.mark.long
def test_a_run_encodes_the_images_that_were_loaded_ahead_together(build, tmp_path):
    masks, passes = {}, {}
    for batch in (1, 2):
        segmenter = build("sam", image_batch=batch)
        seen = passes[batch] = []
        segmenter.model.vision_encoder.register_forward_hook(
            lambda _, given, __, seen=seen: seen.append(len(given[0]))
        )
        run = evaluate(
            "clicks",
            segmenter=segmenter,
            dataset=Photographs(),
            rounds=2,
            out=tmp_path / str(batch),
        )
        assert run.config.counts.failures == 0
        assert run.config.counts.encodes == 6
        masks[batch] = run.masks()["rle"].to_list()
    assert passes == {1: [1] * 6, 2: [1, 2, 2, 1]}
    assert masks[1] == masks[2]
