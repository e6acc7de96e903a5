"""`segarena board`."""

import re

import pytest

import segarena as package


@pytest.fixture
def runs(tmp_path):
    for name, options in (("a", ""), ("b", "(radius_px=4)")):
        out = tmp_path / "runs" / name
        package.evaluate(
            "clicks", segmenter=f"sample-disc{options}", dataset="sample-squares", rounds=2, out=out
        )
    return tmp_path / "runs"


@pytest.mark.long
def test_a_board_of_a_folder_of_runs(segarena, runs, tmp_path):
    (tmp_path / "names.csv").write_text(
        "run,participant,name\na,Ada,<i>first</i>\nb,Bob,\n", encoding="utf-8"
    )
    answer = segarena(
        "board",
        "runs",
        "--out",
        "site",
        "--names",
        "names.csv",
        "--title",
        "Ours",
        "--measure",
        "AuC",
    )
    assert answer.exit_code == 0, answer.output
    assert re.search(r"board:  site/index.html, 2 runs, \d+ photographs?\n", answer.stdout)
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "<h1>Ours</h1>" in page
    assert "&lt;i&gt;first&lt;/i&gt;" in page
    assert "<i>first" not in page.partition("<script type=")[0]


def test_what_is_asked_for_and_is_not_there_is_refused_in_a_line(refused, runs):
    assert "expected one of NoC@" in refused("board", "runs", "--measure", "Dice")
    assert "all 2 finished after 2020-01-01" in refused("board", "runs", "--freeze", "2020-01-01")
    assert "expected a run folder" in refused("board", "nowhere")
    assert "expected a CSV file" in refused("board", "runs", "--names", "nobody.csv")


def test_labels_name_the_runs_of_a_board(segarena, refused, runs, tmp_path):
    answer = segarena(
        "board", "runs", "-o", "site", "--label", "a=Mine, lr 0.1", "--label", "b=Base"
    )
    assert answer.exit_code == 0, answer.output
    for name in ("index.html", "board.tex", "board.csv"):
        text = (tmp_path / "site" / name).read_text(encoding="utf-8")
        assert "Mine, lr 0.1" in text
        assert "Base" in text
    assert "with one of the runs a, b, got 'x=y'" in refused("board", "runs", "--label", "x=y")
