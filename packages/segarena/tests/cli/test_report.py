"""`segarena report` and `segarena demo`."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import segarena as package
from segarena.cli import demo
from segarena.users.habits.habit_files import SHIPPED_HABITS


def small_run(folder, segmenter="sample-disc"):
    return package.evaluate(
        "clicks", segmenter=segmenter, dataset="sample-squares", rounds=2, out=folder
    )


def test_a_report_prints_the_summary_and_says_where_its_files_are(segarena, tmp_path):
    small_run(tmp_path / "r")
    answer = segarena("report", "r")
    assert answer.exit_code == 0, answer.output
    assert "NoC@90" in answer.stdout
    page = tmp_path / "r" / "report"
    assert page.is_dir()
    assert list(page.glob("*.html"))


@pytest.mark.parametrize("data", ["nowhere", "path=nowhere"])
def test_a_missing_new_location_is_rejected_before_anything_is_written(segarena, tmp_path, data):
    small_run(tmp_path / "r")
    answer = segarena("report", "r", "--data", data)
    assert answer.exit_code == 2, answer.output
    assert f"--data {data}: expected the folder of the dataset, found none" in answer.stderr
    assert not (tmp_path / "r" / "report").exists()


def test_two_runs_go_into_one_report_where_asked(segarena, tmp_path):
    small_run(tmp_path / "a")
    small_run(tmp_path / "b", "sample-disc(radius_px=4)")
    answer = segarena("report", "a", "b", "--out", "both")
    assert answer.exit_code == 0, answer.output
    assert list((tmp_path / "both").glob("*.html"))


def test_a_run_is_read_against_the_seconds_of_other_people(segarena, refused, tmp_path):
    small_run(tmp_path / "r")
    (tmp_path / "slow.toml").write_text(
        (SHIPPED_HABITS / "seconds.toml")
        .read_text(encoding="utf-8")
        .replace("median_s = 1.9", "median_s = 19.0"),
        encoding="utf-8",
    )
    usual, slow = (
        segarena("report", "r", "--out", name, *options)
        for name, options in (("a", []), ("b", ["--seconds", "slow.toml"]))
    )
    assert usual.exit_code == slow.exit_code == 0, slow.output
    rows = [
        (tmp_path / name / "person-seconds.csv").read_text(encoding="utf-8").splitlines()[1]
        for name in "ab"
    ]
    seconds = [float(row.split(",")[6]) for row in rows]
    assert seconds[1] > seconds[0] + 10
    assert "expected one of mouse, pen, touch; got 'nose'" in refused(
        "report", "r", "--pointer", "nose"
    )


def test_a_report_of_nothing_is_refused(refused):
    message = refused("report", "nowhere")
    assert "nowhere: expected a run folder with a run.json in it, found nothing" in message


def test_a_folder_in_or_above_a_run_gets_the_run_as_a_hint(refused, tmp_path):
    run = small_run(tmp_path / "runs" / "r").path
    assert f"and {run} is one; name that folder" in refused("report", "runs/r/records")
    assert "found one in runs/r; name the run itself" in refused("check", "runs")


def test_a_report_of_damaged_records_is_refused(segarena, refused, tmp_path):
    small_run(tmp_path / "r")
    (file,) = (tmp_path / "r" / "records").glob("*.parquet")
    file.write_bytes(b"PAR1")
    assert f"{file.relative_to(tmp_path)} is damaged" in refused("report", "r")


def test_the_demo_judges_two_segmenters_and_writes_a_report(segarena, tmp_path, monkeypatch):
    quick = replace(demo.PHOTOGRAPHS, segmenters=("sample-disc", "sample-disc(radius_px=4)"))
    monkeypatch.setattr(demo, "PHOTOGRAPHS", quick)
    answer = segarena("demo", "--rounds", "1", "--workers", "0", "--out", "d")
    assert answer.exit_code == 0, answer.output
    assert "Open it in a browser; it works offline." in answer.stdout
    assert len(list((tmp_path / "d").glob("*/run.json"))) == 2
    assert list((tmp_path / "d" / "report").glob("*.html"))
    shutil.rmtree(tmp_path / "d")


def test_the_segmenters_of_the_demo_exist():
    from segarena.registry import plugins_by_name

    assert set(demo.PHOTOGRAPHS.segmenters) <= set(plugins_by_name("segmenter"))


@pytest.fixture
def kitchen(tmp_path):
    """Two runs on a folder of photographs, started from its parent folder."""
    for name in ("images", "masks"):
        (tmp_path / "photos" / name).mkdir(parents=True)
    pixels = np.random.default_rng(0).integers(0, 255, (40, 60, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photos" / "images" / "pan.png")
    mask = np.zeros((40, 60), np.uint8)
    mask[10:30, 20:40] = 255
    Image.fromarray(mask).save(tmp_path / "photos" / "masks" / "pan.png")
    data = "folder(path='photos', name='kitchen')"
    for name in ("a b", "c"):
        package.evaluate(
            "clicks", segmenter="sample-disc", dataset=data, rounds=1, out=Path("runs", name)
        )
    return tmp_path


def page_of(place):
    return (place / "report.html").read_text(encoding="utf-8")


@pytest.mark.long
def test_photographs_are_found_from_any_directory_and_where_they_moved(
    segarena, kitchen, monkeypatch
):
    monkeypatch.chdir("/")
    run, out = str(kitchen / "runs" / "c"), kitchen / "out"
    assert segarena("report", run, "-o", str(out)).exit_code == 0
    assert "data:image/jpeg" in page_of(out)
    (kitchen / "photos").rename(kitchen / "moved")
    segarena("report", run, "-o", str(out))
    assert "data:image/jpeg" not in page_of(out)
    assert "If its files have moved, pass their location" in page_of(out)
    segarena("report", run, "-o", str(out), "--data", str(kitchen / "moved"))
    assert "data:image/jpeg" in page_of(out)
    assert "has changed since the run" not in page_of(out)


def test_a_folder_above_runs_stands_for_them_and_data_carry_their_name(segarena, kitchen):
    answer = segarena("report", "runs")
    assert answer.exit_code == 0, answer.output
    page = page_of(kitchen / "runs" / "report")
    assert re.search(r"<title>sample-disc #1, sample-disc #2 on kitchen</title>", page)
    assert f"<dd>{kitchen}</dd>" in page or str(kitchen) in page


def test_a_place_for_data_that_have_none_is_refused(segarena, refused, tmp_path):
    small_run(tmp_path / "r")
    assert "expected a dataset with one folder, got sample-squares with none" in refused(
        "report", "r", "--data", "."
    )


ALBUM = """
from segarena.datasets.folder import Folder


class Album(Folder):
    def __init__(self, *, root, mode="all"):
        super().__init__(path=root)
        self.mode = mode
"""


def test_data_whose_folder_is_another_option_are_found_where_they_moved(segarena, kitchen):
    Path("album.py").write_text(ALBUM, encoding="utf-8")
    assert segarena("data", "check-dataset", "album.py:Album", "photos").exit_code == 0
    package.evaluate(
        "clicks",
        segmenter="sample-disc",
        dataset="album.py:Album(root='photos')",
        rounds=1,
        out=Path("runs", "album"),
    )
    (kitchen / "photos").rename(kitchen / "moved")
    for data in ("root=moved", "moved"):
        answer = segarena(
            "report", "runs/album", "--trust", "-o", data.partition("=")[0], "--data", data
        )
        assert (answer.exit_code, data) == (0 if data == "root=moved" else 2, data), answer.output
    assert "data:image/jpeg" in page_of(Path("root"))
    assert "give OPTION=moved, OPTION being one of mode, root" in " ".join(answer.output.split())


@pytest.mark.long
def test_runs_of_several_rules_below_a_folder_are_named_in_their_groups(segarena, refused, kitchen):
    package.evaluate(
        "clicks", segmenter="sample-disc", dataset="demo", limit=1, rounds=2, out=Path("runs", "d")
    )
    told = refused("report", "runs")
    assert "these 3 runs followed 2 different sets of rules" in told
    runs = kitchen / "runs"
    assert f"benchmark rounds is 1 in {runs}/a b, 2 in {runs}/d" in told
    assert f"segarena report '{runs}/a b' {runs}/c; or segarena report {runs}/d" in told
    assert segarena("report", "runs/a b", "runs/c").exit_code == 0


@pytest.mark.long
def test_labels_name_runs_in_terminal_page_and_latex(segarena, refused, tmp_path):
    small_run(tmp_path / "a")
    small_run(tmp_path / "b", "sample-disc(radius_px=4)")
    answer = segarena(
        "report", "a", "b", "--label", "a=Mine, lr 0.1", "--label", "b=Base", "-o", "o"
    )
    assert answer.exit_code == 0, answer.output
    assert "Mine, lr 0.1" in answer.stdout
    assert "sample-disc" not in answer.stdout
    for name in ("report.html", "summary.tex"):
        text = (tmp_path / "o" / name).read_text(encoding="utf-8")
        assert "Mine, lr 0.1" in text
        assert "Base" in text
    assert "Mine" in segarena("report", "a", "--label", "Mine").stdout
    message = refused("report", "a", "b", "--label", "c=Mine")
    assert "label: expected RUN=LABEL with one of the runs a, b, got 'c=Mine'" in message
    message = refused("report", "a", "--label", "a=Mine", "--label", "c=Base")
    assert "label: expected RUN=LABEL with one of the runs a, got 'c=Base'" in message
    message = refused("report", "a", "--label", "c=Mine")
    assert "label: expected RUN=LABEL with one of the runs a, got 'c=Mine'" in message
    message = refused("report", "a", "--label", "a=Mine", "--label", "a=Base")
    assert "label: expected one label for a, got a second one, 'a=Base'" in message


def test_note_and_tags_are_in_the_run_and_its_report(segarena, tmp_path):
    options = ("-s", "sample-disc", "-d", "sample-squares", "--rounds", "2", "-w", "0", "-o", "r")
    answer = segarena(
        "run", "clicks", *options, "--note", "after the fix", "--tag", "paper", "--tag", "v2"
    )
    assert answer.exit_code == 0, answer.output
    assert "after the fix; tags: paper, v2" in answer.stdout
    run = package.RunFolder.open(tmp_path / "r")
    assert (run.note, run.tags) == ("after the fix", ("paper", "v2"))
    count = len(run.samples)
    assert repr(run) == (
        f"<clicks of sample-disc, {count} of {count} photographs, tags paper, v2, "
        f"note 'after the fix': {run.path}>"
    )
    again = segarena("run", "clicks", *options, "--note", "final")
    assert again.exit_code == 0, again.output
    run = package.RunFolder.open(tmp_path / "r")
    assert (run.note, run.tags) == ("final", ("paper", "v2"))
    assert segarena("report", "r").exit_code == 0
    page = (tmp_path / "r" / "report" / "report.html").read_text(encoding="utf-8")
    assert "final; tags: paper, v2" in page
