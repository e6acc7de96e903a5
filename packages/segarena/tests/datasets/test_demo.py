"""Demo data: complete, consistent, and with a clear message if the installation has different files."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from PIL import Image

from segarena.datasets import demo
from segarena.errors import DatasetMissing, SampleInvalid
from segarena.registry import build
from segarena.roles import Dataset
from segarena.samples import check_sample

INSTALLED = demo._installed("segarena.datasets") / "demo_data"


def test_demo_needs_no_options_and_has_enough_to_try():
    found = build("dataset", "demo")
    assert isinstance(found, Dataset)
    assert found.name == "demo"
    samples = [found.load(sample_id) for sample_id in found.sample_ids]
    targets = [target for sample in samples for target in sample.targets]
    assert len(targets) >= 25
    assert {target.attributes["size"] for target in targets} == {"small", "medium", "large"}
    assert {target.attributes["shape"] for target in targets} == {"thin", "compact"}


@pytest.mark.parametrize("photograph", json.loads((INSTALLED / "demo.json").read_text())["photographs"],
                         ids=lambda photograph: photograph["name"])  # fmt: skip
def test_each_photograph_fits_its_masks(photograph):
    sample = demo.Demo().load(photograph["name"])
    check_sample(sample)
    assert sample.image.shape == (photograph["height"], photograph["width"], 3)
    for target, entry in zip(sample.targets, photograph["objects"], strict=True):
        assert target.id == entry["name"]
        assert target.label
        assert target.mask.sum() == entry["area_px"] > 0
        assert (target.ignore is not None) == entry["ignore"]
        if target.ignore is not None:
            assert not (target.ignore & target.mask).all()


def test_check_of_the_installed_data_finds_no_error():
    assert [finding.message for finding in demo.Demo().check() if finding.is_error] == []


def test_every_mask_file_is_in_the_index():
    index = json.loads((INSTALLED / "demo.json").read_text())
    listed = {
        f"{photograph['name']}__{entry['name']}{suffix}.png"
        for photograph in index["photographs"]
        for entry in photograph["objects"]
        for suffix in (("", "__ignore") if entry["ignore"] else ("",))
    }
    assert {path.name for path in (INSTALLED / "masks").iterdir()} == listed


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A demo of one photograph, in a separate installation."""
    photographs, data = tmp_path / "skimage" / "data", tmp_path / "datasets" / "demo_data"
    photographs.mkdir(parents=True)
    (data / "masks").mkdir(parents=True)
    Image.new("RGB", (8, 6), (1, 2, 3)).save(photographs / "cat.png")
    Image.fromarray(np.eye(6, 8, dtype=np.uint8) * 255).save(data / "masks" / "cat__nose.png")
    entry = {
        "name": "nose",
        "label": "nose",
        "size": "small",
        "is_thin": True,
        "area_px": 6,
        "ignore": False,
    }
    photograph = {
        "name": "cat",
        "file": "skimage:cat.png",
        "height": 6,
        "width": 8,
        "objects": [entry],
    }
    photograph["sha256"] = hashlib.sha256(
        np.full((6, 8, 3), (1, 2, 3), dtype=np.uint8).tobytes()
    ).hexdigest()
    (data / "demo.json").write_text(json.dumps({"photographs": [photograph]}))
    folders = {"skimage": tmp_path / "skimage", "segarena.datasets": tmp_path / "datasets"}
    monkeypatch.setattr(demo, "_installed", folders.__getitem__)
    return tmp_path


def test_the_small_demo_is_in_order(small):
    assert demo.Demo().load("cat").targets[0].attributes == {"size": "small", "shape": "thin"}
    assert not any(finding.is_error for finding in demo.Demo().check())


def test_other_pixels_are_found_by_the_check(small):
    Image.new("RGB", (8, 6), (1, 2, 4)).save(small / "skimage" / "data" / "cat.png")
    (error,) = [finding.message for finding in demo.Demo().check() if finding.is_error]
    assert (
        "cat.png: expected the pixels that the demo masks were drawn on, got different pixels (another photograph)"
        in error
    )


def test_other_pixels_of_a_jpeg_are_no_error_because_decoders_differ(small):
    index = small / "datasets" / "demo_data" / "demo.json"
    index.write_text(index.read_text().replace("skimage:cat.png", "skimage:cat.jpg"))
    Image.new("RGB", (8, 6), (1, 2, 9)).save(small / "skimage" / "data" / "cat.jpg")
    findings = [
        finding for finding in demo.Demo().check() if "got different pixels" in finding.message
    ]
    assert [finding.is_error for finding in findings] == [False]


def test_a_photograph_of_another_size_is_refused(small):
    Image.new("RGB", (8, 7)).save(small / "skimage" / "data" / "cat.png")
    with pytest.raises(
        SampleInvalid,
        match=r"cat.png: expected 8 x 6 pixels, got 8 x 7; the installed scikit-image",
    ):
        demo.Demo().load("cat")
    assert [finding.is_error for finding in demo.Demo().check()] == [True, False]


def test_a_changed_mask_is_refused(small):
    Image.new("L", (8, 6), 255).save(small / "datasets" / "demo_data" / "masks" / "cat__nose.png")
    with pytest.raises(
        SampleInvalid,
        match=r"cat__nose.png: expected 6 object pixels, got 48; install segarena again",
    ):
        demo.Demo().load("cat")


@pytest.mark.parametrize("name", ["skimage/data/cat.png", "datasets/demo_data/masks/cat__nose.png"])
def test_missing_files_are_named(small, name):
    (small / name).unlink()
    with pytest.raises(
        DatasetMissing, match=r"demo photograph 'cat': expected .*cat.*png, found none"
    ):
        demo.Demo()


def test_a_missing_index_is_named(small):
    (small / "datasets" / "demo_data" / "demo.json").unlink()
    with pytest.raises(
        DatasetMissing, match=r"demo.json: expected the demo data in the installation, found none"
    ):
        demo.Demo()


def test_fingerprint_follows_the_index(small):
    before = demo.Demo().fingerprint
    index = small / "datasets" / "demo_data" / "demo.json"
    index.write_text(index.read_text().replace("small", "large"))
    assert demo.Demo().fingerprint != before
