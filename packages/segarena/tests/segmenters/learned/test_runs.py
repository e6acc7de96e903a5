"""Runs of networks with odd images, prompts or weights: errors are reported, and the run continues."""

from __future__ import annotations

import copy
import subprocess
import sys

import cv2
import numpy as np
import polars as pl
import pytest
from PIL import Image
from typer.testing import CliRunner

torch = pytest.importorskip("torch")

from segarena import evaluate  # noqa: E402
from segarena.cli.main import app  # noqa: E402
from segarena.errors import PluginInvalid  # noqa: E402

FAMILIES = ["sam", "sam-hq", "sam2", "sam3-tracker"]


def pixels(height, width):
    return np.random.default_rng((height, width)).integers(
        0, 256, (height, width, 3), dtype=np.uint8
    )


def written(family, folder, **options):
    more = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"{family}(weights={str(folder)!r}, device='cpu'{more})"


@pytest.fixture
def photographs(tmp_path):
    """A folder with images of all usual kinds, and their masks."""
    (tmp_path / "data" / "images").mkdir(parents=True)
    (tmp_path / "data" / "masks").mkdir()

    def save(name, image, shape):
        file = tmp_path / "data" / "images" / f"{name}.png"
        image.save(file) if isinstance(image, Image.Image) else cv2.imwrite(str(file), image)
        mask = np.zeros(shape, bool)
        mask[: (shape[0] + 1) // 2, : (shape[1] + 1) // 2] = True
        Image.fromarray(mask).save(tmp_path / "data" / "masks" / f"{name}.png")

    colours = pixels(40, 50)
    save("alpha", Image.fromarray(np.dstack([colours, colours[:, :, 0]])), (40, 50))
    save("colour", Image.fromarray(colours), (40, 50))
    save("deep-colour", colours.astype(np.uint16) * 256, (40, 50))
    save("deep-grey", colours[:, :, 0].astype(np.uint16) * 256, (40, 50))
    save("grey", Image.fromarray(colours[:, :, 0]), (40, 50))
    save("long", Image.fromarray(pixels(20, 30000)), (20, 30000))
    save("palette", Image.fromarray(colours).quantize(16), (40, 50))
    save("pixel", Image.fromarray(pixels(1, 1)), (1, 1))
    save("tall", Image.fromarray(pixels(30000, 20)), (30000, 20))
    return f"folder(path={str(tmp_path / 'data')!r})"


# The longest side is made equal to the network's by the first, and both sides by the second; the others do as these.
@pytest.mark.long
@pytest.mark.parametrize(
    "family",
    [
        "sam",
        "sam2",
        *(pytest.param(family, marks=pytest.mark.long) for family in ("sam-hq", "sam3-tracker")),
    ],
)
def test_images_of_every_kind_are_answered_and_16_bit_grey_is_recorded_as_not_loaded(
    family, folder_of, photographs, tmp_path
):
    run = evaluate(
        "clicks",
        segmenter=written(family, folder_of(family)),
        dataset=photographs,
        rounds=2,
        out=tmp_path / "run",
    )
    records = run.records()
    failed = records.filter(pl.col("failure").is_not_null())
    assert failed["sample"].to_list() == ["deep-grey"]
    assert (
        "expected 8 bits per channel, got pillow mode I;16; scale it to 0..255"
        in failed["failure"].item()
    )
    answered = records.filter(pl.col("failure").is_null())
    others = ["alpha", "colour", "deep-colour", "grey", "long", "palette", "pixel", "tall"]
    assert sorted(set(answered["sample"])) == others
    assert run.config.counts.encodes == len(others)
    assert run.config.counts.failures == 0
    assert run.config.counts.unloaded == 1


USERS = """
from segarena import Click

class Outside:
    def next(self, turn):
        is_second = turn.sample.id == "grey" and turn.round == 2
        return [Click((400, 3) if is_second else (3, 3))]

class Silent:
    def next(self, turn):
        return [] if turn.round == 2 else [Click((3, 3))]

class Scribbles:
    prompt_kinds = {"scribble"}
    def next(self, turn):
        return []
"""


@pytest.fixture
def users(tmp_path):
    (tmp_path / "users.py").write_text(USERS)
    return lambda name: f"{tmp_path / 'users.py'}:{name}"


@pytest.mark.long
def test_a_prompt_outside_the_image_ends_that_dialogue_and_no_other(
    folder_of, photographs, users, tmp_path
):
    run = evaluate(
        "clicks",
        segmenter=written("sam", folder_of("sam")),
        dataset=photographs,
        users=[f"outside={users('Outside')}", "centre"],
        rounds=3,
        limit=5,
        out=tmp_path / "run",
    )
    grey = run.records().filter(pl.col("sample") == "grey")
    assert grey.filter(pl.col("failure").is_not_null()).select(
        "user", "round", "failure"
    ).rows() == [
        ("outside", 2, "user outside: click at ((400, 3),) lies outside a sample of shape (40, 50)")
    ]
    assert set(grey.filter(pl.col("user") == "centre")["round"]) == {1, 2, 3}
    colour = run.records().filter((pl.col("sample") == "colour") & (pl.col("user") == "outside"))
    assert colour["failure"].null_count() == colour.height == 3


def test_a_user_who_says_nothing_ends_the_dialogue_without_a_failure(
    folder_of, photographs, users, tmp_path
):
    run = evaluate(
        "clicks",
        segmenter=written("sam", folder_of("sam")),
        dataset=photographs,
        users=[users("Silent")],
        limit=2,
        out=tmp_path / "run",
    )
    assert run.records().select("sample", "round", "failure").rows() == [
        ("alpha", 1, None),
        ("colour", 1, None),
    ]


def test_a_user_of_other_prompts_is_refused_before_the_run(folder_of, photographs, users, tmp_path):
    with pytest.raises(
        PluginInvalid, match=r"takes boxes and clicks and masks; user .* gives scribbles"
    ):
        evaluate(
            "clicks",
            segmenter=written("sam", folder_of("sam")),
            dataset=photographs,
            users=[users("Scribbles")],
            out=tmp_path / "run",
        )
    assert not (tmp_path / "run").exists()


def test_an_image_that_does_not_fit_into_memory_is_a_recorded_failure(
    folder_of, photographs, tmp_path, monkeypatch
):
    from segarena.segmenters.learned.promptable.sam_network import SAM_VARIANTS as NETWORKS
    from segarena.segmenters.learned.promptable.sam_network import SamVariant

    calls = []

    def embed(model, pixels):
        calls.append(1)
        if len(calls) == 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return {"image_embeddings": model.get_image_embeddings(pixels)}

    monkeypatch.setitem(NETWORKS, "sam", SamVariant(is_padded=True, logits_limit=None, embed=embed))
    run = evaluate(
        "clicks",
        segmenter=written("sam", folder_of("sam")),
        dataset=photographs,
        rounds=2,
        limit=3,
        out=tmp_path / "run",
    )
    failed = run.records().filter(pl.col("failure").is_not_null())
    assert failed["sample"].to_list() == ["colour"]
    assert (
        failed["failure"]
        .item()
        .startswith("encode: out of memory while encoding one image: CUDA out of memory.")
    )
    assert run.config.counts.encodes == 2


@pytest.mark.long
def test_weights_that_are_no_numbers_are_recorded_failures_and_no_empty_masks(
    tiny_model, photographs, tmp_path
):
    model = copy.deepcopy(tiny_model("sam"))
    with torch.no_grad():
        model.mask_decoder.upscale_conv2.bias.fill_(torch.nan)
    model.save_pretrained(tmp_path / "nan")
    run = evaluate(
        "clicks",
        segmenter=written("sam", tmp_path / "nan"),
        dataset=photographs,
        limit=2,
        out=tmp_path / "run",
    )
    failures = run.records()["failure"].to_list()
    assert len(failures) == 2
    assert all(
        failure.startswith("predict: the network returned NaN or infinity as torch.float32")
        for failure in failures
    )


def _cut(folder, tmp_path):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    return {}


def _no_folder(folder, tmp_path):
    (folder / "config.json").unlink()
    return {}


def _another_size(folder, tmp_path):
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"mlp_dim": 32', '"mlp_dim": 24'))
    return {}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_cut, "cannot be loaded: SafetensorError"),
        (_no_folder, "has no config.json"),
        (_another_size, "of another shape ("),
        (
            lambda folder, _: {"device": "cuda"},
            "device='cuda' does not exist; available: 'auto', 'cpu'",
        ),
        (lambda folder, _: {"weights": "nowhere.pth"}, "there is no file or folder nowhere.pth"),
        (
            lambda folder, _: {"weights": "nobody/nothing"},
            "nothing is downloaded without permission",
        ),
    ],
)
def test_what_is_wrong_with_weights_is_one_line_on_the_screen_and_no_run(
    tiny_model, tmp_path, spoil, message
):
    if message.startswith("device") and torch.cuda.is_available():
        pytest.skip("a GPU is there")
    tiny_model("sam").save_pretrained(tmp_path / "weights")
    options = {
        "weights": str(tmp_path / "weights"),
        "device": "cpu",
        **spoil(tmp_path / "weights", tmp_path),
    }
    segmenter = f"sam({', '.join(f'{name}={value!r}' for name, value in options.items())})"
    done = CliRunner().invoke(
        app,
        [
            "run",
            "clicks",
            "--segmenter",
            segmenter,
            "--dataset",
            "demo",
            "--out",
            str(tmp_path / "run"),
        ],
    )
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert len(done.output.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_a_missing_extra_is_one_line_on_the_screen(tmp_path):
    program = """
import sys
sys.modules["torch"] = None  # as if it were not installed
from segarena.cli.main import app
app(["run", "clicks", "--segmenter", "sam(weights='anything')", "--dataset", "demo", "--out", "run"])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr.strip() == 'error: this needs torch: pip install "segarena[models]"'
    assert not (tmp_path / "run").exists()
