"""`segarena plan`: its output, and its options, which are those of `segarena run`."""

from dataclasses import replace

import pytest

from segarena.cli.plan import bytes_text, forecast_rows
from segarena.engine.forecast import Forecast

QUICK = ("plan", "clicks", "-s", "sample-disc", "-d", "sample-squares", "--rounds", "2")
COST = Forecast(
    samples=1000,
    sample_word="volume",
    targets=3000,
    timed=3,
    failures=0,
    workers=4,
    device="cpu",
    encodes=1000,
    predictions=30_000,
    predictions_at_most=60_000,
    startup_s=20.0,
    hours=5.0,
    hours_low=1.0,
    hours_high=60.0,
    hours_at_most=9.0,
    gpu_hours=None,
    process_bytes=2 * 10**9,
    records_bytes=5 * 10**6,
    masks_bytes=7 * 10**9,
)


@pytest.mark.long
def test_a_plan_says_passes_predictions_time_memory_and_disk(segarena, tmp_path):
    answer = segarena(*QUICK, "--samples", "1", "-w", "2")
    assert answer.exit_code == 0, answer.output
    first, *lines = answer.stdout.splitlines()
    assert first == "clicks · sample-disc, from 1 of 3 photographs timed"
    assert [line.split("  ")[0] for line in lines[:7]] == [
        "targets", "encoder passes", "predictions", "time", "", "memory", "disk",
    ]  # fmt: skip
    assert lines[1].split() == ["encoder", "passes", "3"]
    assert "upper estimate" in lines[-1] or "ended early" in lines[-1]
    assert list(tmp_path.iterdir()) == []


def test_the_lines_of_a_forecast():
    assert forecast_rows(COST) == [
        ("targets", "3,000 in 1,000 volumes"),
        ("encoder passes", "1,000"),
        ("predictions", "30,000, at most 60,000"),
        ("time", "5.0 h with --workers 4, at most 9.0 h"),
        (
            "",
            "60 min to 2.5 days if all targets were like those of the quickest or the slowest volume",
        ),
        ("", "including 20 s of startup before the first sample"),
        ("memory", "2 GB in a process, 8 GB in 4"),
        ("disk", "5 MB for records, 7 GB for masks"),
    ]


def test_gpu_hours_and_one_process():
    lines = dict(forecast_rows(replace(COST, device="cuda", gpu_hours=5.0, workers=0)))
    assert lines["GPU"] == "5 GPU hours on cuda"
    assert lines["memory"] == "2 GB in a process"


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 kB"), (12_345, "12.3 kB"), (999_600, "1 MB"), (5 * 10**9, "5 GB"), (2e12, "2 TB")],
)
def test_sizes_read_in_the_unit_that_fits(size_bytes, text):
    assert bytes_text(size_bytes) == text


@pytest.mark.long
def test_early_ends_and_failures_are_said(segarena, plugin):
    early = segarena(
        "plan",
        "-s",
        plugin("At", how="raises"),
        "-d",
        "sample-squares",
        "--samples",
        "2",
        "--rounds",
        "3",
    )
    assert early.exit_code == 0, early.output
    assert early.stdout.splitlines()[-1].startswith(
        "Some dialogues of the timed photographs ended early; if none does"
    )
    assert "failures in the tried photographs: 1; a run would record them" in early.stderr


def test_the_file_of_options_of_a_run_serves_for_its_plan(segarena, tmp_path):
    text = "segmenter = 'sample-disc'\ndataset = 'sample-squares(count=2)'\nout = 'r'\nrounds = 1\nlimit = 1"
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    answer = segarena("plan", "-c", "run.toml")
    assert answer.exit_code == 0, answer.output
    assert "from 1 of 1 photograph timed" in answer.stdout
    assert {file.name for file in tmp_path.iterdir()} == {"run.toml"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan"], "no segmenter given; add --segmenter NAME"),
        (
            ["plan", "-s", "sample-disc", "-d", "dmeo"],
            "no dataset is called 'dmeo', and there is no such folder; did you mean 'demo'",
        ),
        ([*QUICK, "--samples", "0"], "timed samples must be at least 1, got 0"),
        ([*QUICK, "-s", "mine.py:Mine"], "there is no file mine.py"),
    ],
)
def test_bad_input_is_refused_in_one_line(refused, arguments, message):
    assert message in refused(*arguments)
