"""`segarena segment`: masks for a folder from one example, and one-line messages for bad input."""

import cv2
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from segarena.cli.main import app

ORIENTATION = 0x0112
HALF_TURN = 3


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        cv2.imwrite(f"{name}.png", rng.integers(0, 256, (20, 30, 3), dtype=np.uint8))
        mask = np.zeros((20, 30), np.uint8)
        mask[5:10, 3:20] = 255
        cv2.imwrite(f"{name}_mask.png", mask)
    (tmp_path / "photos").mkdir()
    for name in ("a", "b"):
        cv2.imwrite(f"photos/{name}.png", rng.integers(0, 256, (20, 30, 3), dtype=np.uint8))
    return tmp_path


def segment(*arguments):
    return CliRunner().invoke(app, ["segment", *arguments])


def test_one_example_and_a_folder_give_masks(photos):
    answer = segment(
        "--support", "one.png", "one_mask.png", "--query", "photos", "-s", "copy-support-mask"
    )
    assert answer.exit_code == 0, answer.output
    assert "2 of 2 images have a mask in masks" in answer.stdout
    shown = cv2.imread("one_mask.png", cv2.IMREAD_UNCHANGED)
    assert np.array_equal(cv2.imread("masks/a.png", cv2.IMREAD_UNCHANGED), shown)
    again = segment(
        "--support", "one.png", "one_mask.png", "--query", "photos", "-s", "copy-support-mask"
    )
    assert "2 of them from an earlier call" in again.stdout


def test_several_examples_and_the_default_segmenter(photos):
    pairs = ["--support", "one.png", "one_mask.png", "--support", "two.png", "two_mask.png"]
    answer = segment(*pairs, "-q", "photos", "-o", "found")
    assert answer.exit_code == 0, answer.output
    assert {file.name for file in (photos / "found").iterdir()} == {
        "a.png",
        "b.png",
        "segment.json",
    }


def test_an_example_that_exif_rotates_is_noted(photos):
    exif = Image.Exif()
    exif[ORIENTATION] = HALF_TURN
    Image.new("RGB", (30, 20)).save("turned.jpg", exif=exif)
    answer = segment(
        "--support", "turned.jpg", "one_mask.png", "-q", "photos", "-s", "copy-support-mask"
    )
    assert answer.exit_code == 0, answer.output
    assert "note: EXIF rotates 1 photographs whose masks have no orientation" in answer.stderr
    assert "turned.jpg with one_mask.png" in answer.stderr


def test_failures_are_named_and_give_exit_code_1(photos):
    (photos / "photos" / "c.png").write_bytes(b"nothing")
    answer = segment("--support", "one.png", "one_mask.png", "-q", "photos")
    assert answer.exit_code == 1
    assert "2 of 3 images" in answer.stdout
    assert "failed: c: photos/c.png: expected a readable image file" in answer.stderr.replace(
        "\n", " "
    )


def test_an_example_without_its_mask_is_refused(photos):
    for given in (
        ["--support", "one.png", "-q", "photos"],
        ["-q", "photos", "--support", "one.png"],
    ):
        answer = segment(*given)
        assert answer.exit_code == 2
        assert "expected two files, --support IMAGE MASK" in answer.stderr.replace("│", "")


def test_refusals_are_one_line(photos):
    answer = segment("--support", "one.png", "none.png", "-q", "photos")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: none.png: expected an image file here")
    assert len(answer.stderr.strip().splitlines()) == 1
