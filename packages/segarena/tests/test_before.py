"""Folders written by the version before run folders had a format number: they open, go on, and report the same numbers.

Each archive in data/before holds a folder as that version left it, and in expected/ the tables it reported.
"""

import csv
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import segarena
from segarena.davis import DavisInteractiveSession
from segarena.errors import StoreError
from segarena.reports.report_files import write_report

BEFORE = Path(__file__).parent / "data" / "before"
RUNS = ("clicks", "rclicks", "volumes", "videos", "oneshot", "session", "unfinished")
WORDING = {"protocol", "Protocol", "Mode"}
# Runs shorter than their benchmark have its last value after their own last round today.
_NUMBERS = (
    "Seconds of a person",
    "Seconds, whole dialogue",
    "Dice at last",
    *("IoU@3", "BIoU@3", "Dice@3", "NSD@3", "J&F@3", "J@3", "F@3"),
)
ADDED = {"In words", *(f"{name}{end}" for name in _NUMBERS for end in ("", " low", " high"))}
"""Columns that today's tables have in addition."""
"""Columns that name the rules in words, which may change; the numbers beside them may not."""

# `graph` kept no correction local when these runs were made.
SAME_RUN = {
    "clicks": (
        "clicks",
        {"segmenter": "graph(local=False)", "dataset": "demo", "limit": 2, "rounds": 3},
    ),
    "rclicks": (
        "rclicks",
        {"segmenter": "graph(local=False)", "dataset": "demo", "limit": 2, "rounds": 3},
    ),
    "volumes": (
        "radioactive(prompts=['3b-inter', '1-ppv'], refine='scribble')",
        {"segmenter": "geodesic", "dataset": "phantom(cases=1, shape=(20, 48, 48))", "rounds": 3},
    ),
    "videos": (
        "davis",
        {
            "segmenter": "colour-flow",
            "dataset": "demo-videos(size=(48, 64), frames=6)",
            "limit": 1,
            "rounds": 3,
        },
    ),
    "oneshot": ("toss", {"segmenter": "copy-support-mask", "dataset": "oneshot-demo", "limit": 12}),
    "unfinished": (
        "clicks",
        {"segmenter": "graph(local=False)", "dataset": "demo", "limit": 5, "rounds": 3},
    ),
}


def unpacked(name, folder):
    with zipfile.ZipFile(BEFORE / f"{name}.zip") as archive:
        archive.extractall(folder)
    return folder


def table(file):
    with file.open(encoding="utf-8", newline="") as lines:
        # NoF over groups of clicks says today that it counts targets
        return [
            {k: v.removesuffix(", targets") for k, v in row.items() if k not in WORDING | ADDED}
            for row in csv.DictReader(lines)
        ]


def numbers_of(latex):
    """Return the lines of a table in a form common to both versions, because headings and marks differ."""
    lines = [
        line.replace("& corrected &", "& careful &")
        for line in latex.splitlines()
        if not line.startswith("%")
    ]
    plain = [
        re.sub(r" \$\\(up|down)arrow\$| over objects|, targets| ↓(?= [&\\])", "", line)
        for line in lines
    ]
    plain = [re.sub(r"\\(textbf|underline)\{([^{}]*)\}", r"\2", line) for line in plain]
    return without_added_columns(plain)


def without_added_columns(lines):
    kept = []
    added = set()
    for line in lines:
        if line.startswith(r"\begin{tabular}"):
            added = set()
            kept.append(r"\begin{tabular}")
            continue
        cells = line.removesuffix(r" \\").split(" & ")
        if ADDED & set(cells):
            added = {index for index, cell in enumerate(cells) if cell in ADDED}
        kept.append([cell for index, cell in enumerate(cells) if index not in added])
    return kept


def assert_same_tables(written, expected, except_for=()):
    for file in sorted(set(expected.glob("*.csv")) - {expected / name for name in except_for}):
        assert table(written / file.name) == table(file), file.name
    for file in sorted(expected.glob("*.tex")):
        tabulars = [
            numbers_of(path.read_text(encoding="utf-8")) for path in (written / file.name, file)
        ]
        assert tabulars[0] == tabulars[1], file.name


@pytest.mark.parametrize("name", RUNS)
def test_reports_give_the_same_numbers(name, tmp_path):
    folder = unpacked(name, tmp_path)
    write_report([folder / "run"], folder / "report")
    assert_same_tables(folder / "report", folder / "expected")


def test_a_damaged_name_of_a_column_is_told(tmp_path):
    folder = unpacked("clicks", tmp_path)
    file = folder / "run" / "records" / "000000.parquet"
    pl.read_parquet(file).with_columns(pl.lit("dog").alias("klass")).write_parquet(file)
    for other in set(file.parent.iterdir()) - {file}:
        other.unlink()
    with pytest.raises(StoreError, match=r"expected numbers in column 'klass'.*--retry-damaged"):
        write_report([folder / "run"], folder / "report")


# "unfinished" is a longer run of the benchmark "clicks".
@pytest.mark.long
@pytest.mark.parametrize("name", SAME_RUN)
def test_the_same_command_goes_on_there(name, tmp_path):
    folder = unpacked(name, tmp_path)
    benchmark, options = SAME_RUN[name]
    before = segarena.RunFolder.open(folder / "run").records()
    (
        folder / "run" / "records" / "000000.parquet"
    ).unlink()  # as if it had been stopped in the first sample
    run = segarena.evaluate(benchmark, out=folder / "run", **options)
    assert run.is_complete
    again = run.records().head(before.height)
    assert again.drop("prompts").equals(before.drop("prompts"))
    assert list(map(json.loads, again["prompts"])) == list(map(json.loads, before["prompts"]))


def nearest_line(scribbles, shape):
    frames, height, width = shape
    rows, columns = np.mgrid[:height, :width]
    nearest, mask = np.full((height, width), 8.0), np.zeros((height, width), dtype=int)
    for line in (line for lines in scribbles["scribbles"] for line in lines):
        for x, y in line["path"][::10]:
            distance = np.hypot(rows - y * (height - 1), columns - x * (width - 1))
            mask[distance < nearest] = line["object_id"]
            nearest = np.minimum(nearest, distance)
    return np.repeat(mask[None], frames, axis=0)


def take_part(folder):
    """Return the number of answers, and the report of the session."""
    answers = 0
    with DavisInteractiveSession(
        dataset="demo-videos(size=(48, 64), frames=6)",
        sequences=["crossing", "alike"],
        folder=folder,
        max_time=90,
        max_nb_interactions=3,
    ) as session:
        while session.next():
            _, scribbles, _ = session.get_scribbles(only_last=False)
            session.submit_masks(
                nearest_line(scribbles, (6, 48, 64)), next_scribble_frame_candidates=[0, 2, 4]
            )
            answers += 1
        session.get_global_summary()
        return answers, pl.DataFrame(session.get_report())


def test_a_session_goes_on_after_its_last_answer(tmp_path):
    done, unfinished = (
        unpacked("session", tmp_path / "done"),
        unpacked("session-unfinished", tmp_path / "unfinished"),
    )
    answers_now, report = take_part(unfinished / "run")
    assert answers_now == 1
    nothing, expected = take_part(done / "run")
    assert nothing == 0
    without_clock = [
        "sequence",
        "scribble_idx",
        "interaction",
        "object_id",
        "frame",
        "jaccard",
        "contour",
    ]
    assert report.select(without_clock).equals(expected.select(without_clock))


def test_tiers_are_judged_the_same(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from segarena.cli.main import app

    folder = unpacked("tiers", tmp_path)
    monkeypatch.chdir(folder)
    named = folder / "tiers" / "dataset.txt"
    named.write_text(
        named.read_text(encoding="utf-8").replace("/data/", f"{folder}/"), encoding="utf-8"
    )
    pairs = (folder / "tiers" / "pairs.jsonl").read_bytes()
    built = CliRunner().invoke(
        app, ["toss", "build", "photos", "--per-partition", "6", "--per-level", "2"]
    )
    assert built.exit_code == 0, built.output
    assert (folder / "tiers" / "pairs.jsonl").read_bytes() == pairs
    judged = CliRunner().invoke(
        app, ["toss", "judge", "tiers", "-s", "copy-support-mask", "-w", "0"]
    )
    assert judged.exit_code == 0, judged.output
    assert_same_tables(
        folder / "tiers" / "runs" / "report", folder / "expected", except_for=["timings.csv"]
    )
