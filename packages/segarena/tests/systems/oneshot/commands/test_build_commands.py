"""`segarena toss build` and `judge`: from a folder of images and masks to a report in two commands."""

import json
from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from segarena.cli.main import app

pytestmark = pytest.mark.usefixtures("quick_workers")

COLOURS = {"red": (30, 30, 220), "green": (40, 200, 30)}


def write(root, count=6):
    for label, colour in COLOURS.items():
        (root / "masks" / label).mkdir(parents=True)
        (root / "images").mkdir(exist_ok=True)
        for number in range(count):
            pixels = np.random.default_rng(number).normal(110, 6, (40, 50, 3))
            square = slice(5 + number, 20 + number), slice(8 + 3 * number, 22 + 3 * number)
            pixels[square] = colour if number % 2 else pixels[square] + 0.02 * np.array(colour)
            mask = np.zeros((40, 50), np.uint8)
            mask[square] = 255
            cv2.imwrite(
                str(root / "images" / f"{label} {number}.png"), pixels.clip(0, 255).astype(np.uint8)
            )
            cv2.imwrite(str(root / "masks" / label / f"{label} {number}.png"), mask)


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "photos")
    return tmp_path / "photos"


def toss(*arguments):
    return CliRunner().invoke(app, ["toss", *arguments])


FEW = ("--per-partition", "6", "--per-level", "2")


@pytest.mark.long
def test_two_commands_lead_from_a_folder_to_a_report(photos):
    built = toss("build", "photos", *FEW)
    assert built.exit_code == 0, built.output
    assert "pairs of 12 items" in built.stdout
    assert "segarena toss judge tiers" in built.stdout
    # Named twice, a segmenter has one run; one whose text differs in special characters has its own.
    names = ("copy-support-mask", "nothing", "nothing", "nothing()")
    options = [option for name in names for option in ("-s", name)]
    judged = toss("judge", "tiers", *options, "-w", "0")
    assert judged.exit_code == 0, judged.output
    report = Path("tiers/runs/report/report.html").read_text(encoding="utf-8")
    assert "copy-support-mask" in report
    assert {"copy-support-mask", "nothing", "nothing-2", "report"} == {
        path.name for path in Path("tiers/runs").iterdir()
    }


@pytest.mark.long
def test_it_goes_on_where_it_was_and_tells_stages(photos):
    assert "measure index: 12/12 images" in toss("build", "photos", *FEW).stderr
    before = Path("tiers/manifest.json").read_bytes()
    done = toss("build", "photos", "--out", "elsewhere", "--workers", "1", *FEW)
    assert done.exit_code == 0, done.output
    assert (
        json.loads(Path("elsewhere/manifest.json").read_text())["files"]
        == json.loads(before)["files"]
    )
    assert toss("build", "photos", *FEW).exit_code == 0
    assert Path("tiers/manifest.json").read_bytes() == before


def test_options_reach_the_plan(photos):
    Path("seen.txt").write_text("red\n")
    Path("ious.csv").write_text(
        "class,image,iou\n" + "".join(f"{c},{c} {n},{n / 5}\n" for c in COLOURS for n in range(6))
    )
    answer = toss(
        "build", "photos", *FEW, "--folds", "1", "--difficulty", "ious.csv", "--salient-from", "median", "--training",
        "seen.txt", "--saliency", "spectral-residual", "--name", "squares", "--seed", "3", "--min-area", "10",
    )  # fmt: skip
    assert answer.exit_code == 0, answer.output
    manifest = json.loads(Path("tiers/manifest.json").read_text())
    assert manifest["thresholds"]["easy_from"] == 0.75
    assert manifest["plan"]["name"] == "squares"
    assert manifest["plan"]["folds"] == [["green", "red"]]
    assert manifest["plan"]["quotas"] == {
        "partition": 6,
        "level": 2,
        "general": 45,
        "allow_self": False,
    }
    pairs = pl.read_parquet("tiers/pairs.parquet")
    assert set(pairs.filter(pl.col("tier") == "generalization")["class"]) == {"green"}
    assert Path("tiers/drop.txt").read_text().startswith("red  # shares the word 'red'")


def test_folds_may_be_written_down(photos):
    Path("folds.txt").write_text("red\ngreen\n")
    assert toss("build", "photos", *FEW, "--folds", "folds.txt").exit_code == 0
    assert json.loads(Path("tiers/manifest.json").read_text())["plan"]["folds"] == [
        ["red"],
        ["green"],
    ]


def test_an_image_that_cannot_be_used_is_named(photos):
    (photos / "masks" / "red" / "red 1.png").write_bytes(b"broken")
    answer = toss("build", "photos", *FEW)
    assert answer.exit_code == 1
    assert "left out: red in red 1" in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("build", "none"), "expected an existing folder, or a one-shot dataset"),
        (("build", "demo(limit=3)"), "error:"),
        (("build", "photos", "--folds", "9"), "expected 1 to 2"),
        (("build", "photos", "--easy-from", "most"), "expected 0 to 1, or auto or median"),
        (("build", "photos", "--saliency", "u2net"), "expected boundary-contrast"),
        (("judge", "photos", "-s", "nothing"), "expected dataset.txt"),
    ],
)
def test_what_cannot_be_done_is_one_line(photos, arguments, message):
    answer = toss(*arguments)
    assert answer.exit_code == 2
    assert message in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
