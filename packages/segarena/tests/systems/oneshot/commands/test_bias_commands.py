"""`segarena toss spurious`, `bias`, `cnb` and `sgtss` on small made-up data."""

from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from segarena.cli.main import app

pytestmark = pytest.mark.usefixtures("quick_workers")


def segarena(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for label in ("left", "right"):
        (tmp_path / "photos" / "masks" / label).mkdir(parents=True)
    (tmp_path / "photos" / "images").mkdir()
    for number in range(3):
        pixels = (
            np.random.default_rng(number).normal(110, 6, (30, 40, 3)).clip(0, 255).astype(np.uint8)
        )
        pixels[10:20, 5:15] = (30, 30, 220)
        cv2.imwrite(f"photos/images/{number}.png", pixels)
        for label, place in (("left", 5), ("right", 25)):
            mask = np.zeros((30, 40), np.uint8)
            mask[10:20, place : place + 10] = 255
            cv2.imwrite(f"photos/masks/{label}/{number}.png", mask)
    return tmp_path / "photos"


@pytest.mark.long
def test_a_method_that_does_not_look_at_supports_is_found_out(photos):
    rows = [
        f"{label},{query},{(query + 1) % 3},0" for label in ("left", "right") for query in range(3)
    ]
    Path("pairs.csv").write_text("class,query,supports,fold\n" + "\n".join(rows) + "\n")
    made = segarena("toss", "spurious", "pairs.csv", "--out", "spurious.parquet")
    assert made.exit_code == 0, made.output
    assert "30 pairs in 5 lists" in made.stdout
    dataset = "oneshot-folder(path='photos', pairs='spurious.parquet')"
    for name in ("saliency-only", "copy-support-mask"):
        run = segarena("run", "toss", "-s", name, "-d", dataset, "-w", "0", "-o", f"runs/{name}")
        assert run.exit_code == 0, run.output
    shown = segarena("toss", "bias", "runs/saliency-only", "runs/copy-support-mask")
    assert shown.exit_code == 0, shown.output
    ious = {}
    for line in shown.stdout.splitlines():
        words = line.split()
        if len(words) > 3 and words[0] in ("saliency-only", "copy-support-mask"):
            ious[words[0], words[1]] = float(words[2])
    blind = [value for (name, _), value in ious.items() if name == "saliency-only"]
    assert len(blind) == 5
    assert max(blind) == min(blind) > 0
    assert ious["copy-support-mask", "normal"] == ious["copy-support-mask", "no-image"] == 100
    assert ious["copy-support-mask", "other-class"] == ious["copy-support-mask", "null-mask"] == 0


def test_a_run_that_tells_nothing_of_bias_is_refused(photos):
    run = segarena(
        "run",
        "toss",
        "-s",
        "nothing",
        "-d",
        "oneshot-folder(path='photos')",
        "-w",
        "0",
        "-o",
        "runs/plain",
    )
    assert run.exit_code == 0, run.output
    refused = segarena("toss", "bias", "runs/plain")
    assert refused.exit_code == 2
    assert "no measure of bias" in refused.stderr


def test_class_negation_from_a_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["a,1,0.9,0.1", "b,1,0.8,0.7", "a,2,0.9,0.3", "c,3,0.9,0.9", "b,3,0.7,0.7"]
    Path("own.csv").write_text("class,image,supervised,one_shot\n" + "\n".join(rows) + "\n")
    answer = segarena("toss", "cnb", "own.csv", "--folds", "3", "--out", "cnb")
    assert answer.exit_code == 0, answer.output
    table = pl.read_csv("cnb/classes.csv")
    assert table["class"].to_list() == ["a", "b", "c"]
    assert table["drop"].to_list() == pytest.approx([0.7, 0.05, 0.0])
    assert table["presence"].to_list() == pytest.approx([1 / 2, 2 / 3, 1 / 3])
    assert Path("cnb/leave_out_fold0.txt").read_text() == "1\n"
    assert "fold 1: training images with a class that this fold tests: 2\n" in answer.stdout


def test_training_images_selected_by_saliency(photos):
    answer = segarena("toss", "sgtss", "photos", "--folds", "2", "--out", "chosen")
    assert answer.exit_code == 0, answer.output
    assert (
        "fold 0: 3 of 3 training images are kept" in answer.stdout
    )  # all alike, so all at the median
    shares = [pl.read_csv(f"chosen/fold{fold}.csv")["share"].mean() for fold in (0, 1)]
    assert shares[1] > 0.8 > 0.2 > shares[0]  # what stands out is left, which fold 1 trains on
    assert Path("chosen/fold1.txt").read_text() == "0\n1\n2\n"
    refused = segarena("toss", "sgtss", "photos", "--folds", "")
    assert refused.exit_code == 2


@pytest.mark.long
def test_a_dataset_may_be_named_without_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = segarena("toss", "sgtss", "oneshot-demo", "--folds", "2", "--out", "chosen")
    assert answer.exit_code == 0, answer.output
    assert "fold 0: 22 of 43 training images are kept" in answer.stdout
    refused = segarena("toss", "sgtss", "nowhere", "--folds", "2")
    assert refused.exit_code == 2
