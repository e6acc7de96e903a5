"""The matrix of many runs, compared with a known order."""

import math

import numpy as np
import pytest

from segarena.reports.figures import figures
from segarena.reports.pages import page_of
from segarena.reports.ranking_tables import pairs_sheet, ranks_sheet
from segarena.reports.recorded_run import read_runs
from segarena.reports.report import report_html


@pytest.fixture(scope="module")
def many(write_run, make_dialogue, tmp_path_factory):
    """Six segmenters on two datasets: a to d a round apart from each other, e and f as good as d but for noise."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("runs")
    needed = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 4, "f": 4}
    paths = []
    for data in ("near", "far"):
        for name, rounds in needed.items():
            good, bad = [0.5] * (rounds - 1) + [0.95], [0.1] * 4
            curves = [good if rng.random() < 0.9 else bad for _ in range(40)]
            dialogues = [
                make_dialogue(f"photo-{i}", "disc-0", "centre", curve)
                for i, curve in enumerate(curves)
            ]
            paths.append(
                write_run(
                    folder / f"{name}-{data}",
                    dialogues,
                    segmenter={"name": name},
                    dataset={"options": {"path": data, "name": data}, "fingerprint": data},
                )
            )
    return read_runs(paths, trust=True)


def test_each_segmenter_has_a_row_with_value_and_places_on_each_dataset(many):
    sheet = ranks_sheet(many, page_of(many).decides)
    assert sheet.keys == [
        "segmenter",
        "mean rank",
        "NoC@90 on near",
        "rank on near",
        "NoC@90 on far",
        "rank on far",
    ]
    rows = {row[0]: row[1:] for row in sheet.rows}
    assert list(rows)[:3] == ["a", "b", "c"]
    assert [rows[name][2].printed_bounds for name in "abc"] == ["1", "2", "3"]
    assert {rows[name][2].printed_bounds for name in "def"} == {"4 to 6"}
    assert [rows[name][0].mean for name in "abc"] == [1.0, 2.0, 3.0]
    assert [rows[name][1].mark for name in "ab"] == ["best", ""]


def test_every_pair_of_a_dataset_is_there_once_and_only_clear_ones_are_marked(many):
    sheet = pairs_sheet(many, page_of(many).decides)
    assert len(sheet.rows) == 2 * math.comb(6, 2)
    marks = {row[:3]: row[3].mark for row in sheet.rows}
    assert marks["near", "a", "b"] == "better"
    assert all(not mark for (_, one, other), mark in marks.items() if {one, other} <= set("def"))


@pytest.mark.long
def test_of_many_runs_the_differences_to_the_first_are_folded(many):
    html = report_html(page_of(many))
    assert html.index('id="ranks"') < html.index('id="differences"')
    assert "<summary>Differences to the first one on the same dataset</summary>" in html
    assert "<summary>Every pair of runs, 30 rows</summary>" in html


def test_a_sentence_and_a_chart_about_a_dataset_do_not_repeat_its_name(many):
    own = page_of(many)
    assert own.verdict[0].startswith("On near, a reaches IoU 0.9 on 35 of 40 targets in 40 ")
    headings = [heading for made in figures(own) for heading, _ in made.charts]
    assert "near" in headings
    assert not [heading for heading in headings if " on near" in heading]
    assert "<h1>6 segmenters on near, far</h1>" in report_html(own)


@pytest.mark.long
def test_of_more_than_twenty_runs_the_ranking_comes_first_and_the_summary_is_folded(
    make_run, make_dialogue
):
    paths = [
        make_run(
            [make_dialogue("photo-0", "disc-0", "centre", [place / 30])],
            f"{place}",
            segmenter={"name": f"s{place}"},
        )
        for place in range(25)
    ]
    html = report_html(page_of(read_runs(paths, trust=True)))
    assert html.index('id="ranks"') < html.index('id="summary"')
    assert "<summary>Means over targets, 25 rows</summary>" in html
    fewer = report_html(page_of(read_runs(paths[:3], trust=True)))
    assert fewer.index('id="ranks"') > fewer.index('id="summary"')


def test_two_runs_have_no_ranking(many):
    assert 'id="ranks"' not in report_html(page_of(many[:2]))
