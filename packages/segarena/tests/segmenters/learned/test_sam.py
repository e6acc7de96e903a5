from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from segarena import evaluate, registry
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput, PluginInvalid, SegmenterError
from segarena.prompts import Click
from segarena.samples import ImageSample, Target, VolumeSample

FAMILIES = ["sam", "sam-hq", "sam2", "edgetam", "sam3-tracker"]
FROM_FOLDER = [
    name for name in FAMILIES if name != "edgetam"
]  # its backbone needs a package that is not required


def written(family, folder, **options):
    more = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"{family}(weights={str(folder)!r}, device='cpu'{more})"


def photograph(shape=(60, 80, 3)):
    return ImageSample(
        id="x", image=np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    )


@pytest.mark.long
def test_listing_segmenters_imports_neither_torch_nor_the_library():
    program = """
import sys
from segarena.registry import plugins_by_name
plugins_by_name("segmenter")
print(*sorted({"torch", "transformers"} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_without_torch_each_says_how_to_get_it():
    program = f"""
import sys
sys.modules["torch"] = None  # as if it were not installed
from segarena.errors import MissingExtra
from segarena.registry import build
for family in {FAMILIES}:
    try:
        build("segmenter", family + "(weights='nowhere')")
    except MissingExtra as error:
        print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.count('pip install "segarena[models]"') == len(FAMILIES)


def test_weights_must_be_named():
    with pytest.raises(PluginInvalid, match="'weights'"):
        registry.build("segmenter", "sam")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("device='cuda:9'", "device='cuda:9' does not exist; available: 'auto', 'cpu'"),
        ("dtype='int8'", "expected one of 'float32', 'bfloat16', 'float16'"),
        ("batch_size=0", "expected 'auto' or a whole number of at least 1"),
        ("mask_choice='largest'", "expected one of 'best-iou', 'first', 'second', 'third'"),
        ("multimask='sometimes'", "expected one of 'first-click', 'always', 'never'"),
        ("after_negative='drop'", "expected one of 'keep', 'published-reset'"),
        ("threshold=float", "expected a number"),
    ],
)
def test_options_that_do_not_exist_are_refused_before_weights_are_read(option, message):
    pytest.importorskip("torch")
    with pytest.raises(PluginInvalid, match=message):
        registry.build("segmenter", f"sam(weights='nowhere', {option})")


def test_weights_that_are_not_there_or_of_another_family_are_refused(folder_of):
    with pytest.raises(InvalidInput, match="nowhere"):
        registry.build("segmenter", "sam(weights='nowhere')")
    with pytest.raises(InvalidInput, match="sam2"):
        registry.build("segmenter", written("sam2", folder_of("sam")))


@pytest.mark.parametrize("family", FROM_FOLDER)
def test_from_a_folder_a_dialogue_is_answered_replayed_and_packed(family, folder_of):
    live = registry.build("segmenter", written(family, folder_of(family)))
    sample, dialogue, answers = photograph(), Dialogue(), []
    encoded = live.encode(sample)
    for click in (
        Click((20, 20)),
        Click((50, 70), False),
        Click((0, 79)),
        Click((59, 0), False),
        Click((30, 30)),
    ):
        dialogue = dialogue.ask((click,))
        (answer,) = live.predict(encoded, [dialogue])
        answers.append(answer)
        dialogue = dialogue.answer(answer)
    stored = Dialogue(dialogue.rounds, Prediction(answers[3].mask, answers[3].logits))
    fresh = registry.build("segmenter", written(family, folder_of(family)))
    read = fresh.unpack({name: np.array(array) for name, array in live.pack(encoded).items()})
    for again in (fresh.encode(sample), read):
        (replayed,) = fresh.predict(again, [stored])
        assert np.array_equal(replayed.mask, answers[4].mask)
        assert np.array_equal(replayed.logits, answers[4].logits)
    assert fresh.fingerprint == live.fingerprint
    assert fresh.device == "cpu"


def test_what_is_not_an_8_bit_image_is_refused(folder_of):
    segmenter = registry.build("segmenter", written("sam", folder_of("sam")))
    with pytest.raises(SegmenterError, match="sam accepts only images, got a VolumeSample"):
        segmenter.encode(
            VolumeSample(id="v", voxels=np.zeros((2, 3, 4)), spacing_mm=(1.0, 1.0, 1.0))
        )
    with pytest.raises(InvalidInput, match="uint8"):
        segmenter.encode(ImageSample(id="deep", image=np.zeros((5, 5, 3), np.uint16)))


@pytest.fixture
def passes(edgetam_without_its_package, monkeypatch):
    """A list that gets one item for each pass of an image encoder."""
    from segarena.segmenters.weights import loading as weights

    load, seen = weights.load_model, []

    def watched(*given, **how):
        model = load(*given, **how)
        model.vision_encoder.register_forward_hook(lambda *_: seen.append(1))
        return model

    monkeypatch.setattr(weights, "load_model", watched)
    return seen


@pytest.mark.parametrize("family", FAMILIES)
def test_the_encoder_of_the_network_makes_one_pass_per_image(family, folder_of, passes, tmp_path):
    class Noise:
        name, fingerprint, sample_ids = "noise", "1", ["0", "1"]

        def load(self, sample_id):
            half = Target(id="half", mask=np.indices((60, 80))[1] < 40)
            return replace(photograph(), id=sample_id, targets=(half,))

    run = evaluate(
        "clicks",
        segmenter=written(family, folder_of(family)),
        dataset=Noise(),
        rounds=3,
        out=tmp_path / "run",
    )
    records, timings = run.records(), run.timings()
    assert records["failure"].drop_nulls().to_list() == []
    assert set(records["round"]) == {1, 2, 3}
    assert (
        len(passes)
        == timings.filter(timings["round"] == 0).height
        == run.config.counts.encodes
        == 2
    )
