"""`segarena reproduce`: its requirements, its runs and its comparison."""

import csv
import inspect
import json

import pytest

from segarena.engine import forecast
from segarena.engine.forecast import Forecast

pytestmark = pytest.mark.usefixtures("quick_workers")

LAB = """
system = "lab"
paper = "A lab, 2020"
[benchmark]
name = "clicks"
[stand_in]
segmenter = "sample-disc"
dataset = "sample-squares(count=1)"
limit = 1
options = { rounds = 2 }
[datasets.Squares]
plugin = "sample-squares(count=2)"
folder = "squares"
samples = 2
get = "make them"
[models.Disc]
segmenter = "sample-disc(radius_px=8)"
[models.Lost]
segmenter = "sam(weights='{weights}')"
weights = "lost.pth"
get = "nobody knows"
[models.Broken]
segmenter = "sample-disc(wide=1)"
[measures.iou]
title = "IoU@1"
unit = "%%"
scale = 100.0
sheet = "summary"
column = "IoU@1"
[measures.noc]
title = "NoC@90"
sheet = "summary"
column = "NoC@90"
[measures.seconds]
title = "Seconds"
why_not = "it was their machine"
[tables.1]
title = "Models."
figures = \"\"\"
model  | Squares/iou | Squares/noc | Squares/seconds
Disc   | %s          | 0.5         | 3
Lost   | 99.0        | 1           | 4
\"\"\"
[tables.2]
title = "A model that cannot be built."
figures = \"\"\"
model  | Squares/iou
Broken | 50
\"\"\"
"""


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Replace the trials of forecasts, which would take most of the time here."""
    cost = Forecast(
        samples=2, targets=2, timed=1, failures=0, workers=0, device="cpu", encodes=2, predictions=40,
        predictions_at_most=40, startup_s=1.0, hours=0.5, hours_low=0.5, hours_high=0.5, hours_at_most=0.5,
        gpu_hours=None, process_bytes=1, records_bytes=1, masks_bytes=1,
    )  # fmt: skip
    real = inspect.signature(forecast.forecast)

    def untimed(*arguments, **options):
        real.bind(*arguments, **options)
        return cost

    monkeypatch.setattr(forecast, "forecast", untimed)


@pytest.fixture
def lab(tmp_path):
    """Write the table, in which the disc has this IoU, and a folder of data."""

    def write(iou="0.0"):
        (tmp_path / "data" / "squares").mkdir(parents=True, exist_ok=True)
        (tmp_path / "lab.toml").write_text(LAB % iou, encoding="utf-8")
        return "lab.toml:1"

    return write


def compared(folder):
    return list(csv.DictReader((folder / "comparison.csv").read_text("utf-8").splitlines()))


@pytest.mark.long
def test_it_says_what_is_missing_runs_the_rest_and_compares(segarena, lab, tmp_path):
    answer = segarena("reproduce", lab(), "--data", "data", "-o", "out")
    assert answer.exit_code == 1, answer.output  # a model is missing
    assert "missing WEIGHTS/lost.pth" in answer.stdout
    assert "nobody knows" in answer.stdout
    assert "not measured: Seconds: it was their machine." in answer.stdout
    assert "1 run possible, 0 finished" in answer.stdout
    assert "Disc on Squares: 2 encoder passes" in answer.stdout
    rows = compared(tmp_path / "out")
    assert {(row["model"], row["measure"]) for row in rows} == {
        ("Disc", "IoU@1, %"),
        ("Disc", "NoC@90"),
    }
    assert {row["within rounding"] for row in rows} == {"no"}


def test_what_agrees_to_the_printed_digit_is_within_rounding(segarena, lab, tmp_path):
    segarena("reproduce", lab(), "--data", "data", "-m", "Disc", "-o", "out")
    (iou,) = (
        float(row["measured"]) for row in compared(tmp_path / "out") if row["measure"] == "IoU@1, %"
    )
    answer = segarena("reproduce", lab(f"{iou:.1f}"), "--data", "data", "-m", "Disc", "-o", "out")
    assert answer.exit_code == 0, answer.output
    told = {row["measure"]: row for row in compared(tmp_path / "out")}
    assert told["IoU@1, %"]["within rounding"] == "yes"
    assert abs(float(told["IoU@1, %"]["difference"])) <= 0.05
    assert "1 of 2 figures within rounding" in answer.stdout
    assert "The samples differ" not in answer.stdout


@pytest.mark.long
def test_a_second_time_nothing_is_run_again(segarena, lab, tmp_path):
    segarena("reproduce", lab(), "--data", "data", "-m", "Disc", "-o", "out")
    (config,) = tmp_path.glob("out/*/run.json")
    before = json.loads(config.read_text("utf-8"))["created"]
    answer = segarena("reproduce", lab(), "--data", "data", "-m", "Disc", "-o", "out")
    assert "1 run possible, 1 finished" in answer.stdout
    assert json.loads(config.read_text("utf-8"))["created"] == before


@pytest.mark.long
def test_part_of_the_samples_is_said_to_be_a_part(segarena, lab):
    answer = segarena(
        "reproduce", lab(), "--data", "data", "-m", "Disc", "-o", "out", "--limit", "1"
    )
    assert "The samples differ from those of the paper" in answer.stdout


def test_a_dry_run_needs_nothing_and_compares_nothing(segarena, lab, tmp_path):
    answer = segarena("reproduce", lab(), "--dry-run", "-o", "out")
    assert answer.exit_code == 0, answer.output
    assert "these are stand-ins" in answer.stdout
    assert not (tmp_path / "out" / "comparison.csv").exists()
    rows = list(
        csv.DictReader(
            (tmp_path / "out" / "dry-run" / "dry-run.csv").read_text("utf-8").splitlines()
        )
    )
    assert {row["measure"] for row in rows} == {"IoU@1, %", "NoC@90"}
    assert {row["stand-in"] for row in rows} == {"sample-disc"}


def test_one_failing_model_is_a_line_and_not_a_traceback(segarena, lab):
    lab()
    answer = segarena("reproduce", "lab.toml:2", "--data", "data", "-o", "out")
    assert answer.exit_code == 1
    assert "wide" in answer.stderr
    assert "Traceback" not in answer.output


def test_without_anything_it_says_so_and_how_to_try(segarena, lab):
    answer = segarena("reproduce", lab(), "-o", "out")
    assert answer.exit_code == 1
    assert (
        "nothing can be measured yet; --dry-run tests the pipeline with substitutes"
        in answer.stdout
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rclicks:99",), "rclicks has rclicks:4"),
        (("rclicks:9", "--models", "SAM ViT-X"), "did you mean"),
        (("rclicks:9", "--datasets", "TETRI"), "did you mean 'TETRIS'"),
        (("rclicks:9", "--data", "nowhere"), "--data nowhere: expected a folder"),
        (
            ("rclicks:9", "--adapter-option", "device"),
            "--adapter-option device: expected NAME=VALUE",
        ),
        (("none.toml",), "expected a file of published tables"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(refused, arguments, words):
    assert words in refused("reproduce", *arguments)


def test_the_list_names_every_table(segarena):
    answer = segarena("list", "tables")
    assert answer.exit_code == 0
    for name in ("rclicks:9", "radioactive:3", "davis:2019", "toss:4", "amodal:3"):
        assert name in answer.stdout
