"""Baselines in reports: image-blind controls come after the other runs and do not affect the verdict."""

import re

import pytest

from segarena.registry import plugins_by_name
from segarena.reports import write_report
from segarena.reports.baselines import floors_of
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.report import report_html


@pytest.fixture
def paths(make_run, make_ramps):
    """Two runs, and between them one of the image-blind segmenter, which has the best values."""

    def run(name, segmenter, lift, seed):
        described = {"kind": "segmenter", "name": segmenter}
        return make_run(make_ramps(samples=8, lift=lift, seed=seed), name, segmenter=described)

    return [
        run("a", "graph", 0.0, 0),
        run("b", "image-blind", 0.3, 0),
        run("c", "watershed", 0.1, 1),
    ]


def section(html, anchor):
    return html.partition(f'<section id="{anchor}">')[2].partition("</section>")[0]


@pytest.mark.long
def test_what_sees_no_image_is_neither_ranked_nor_compared(paths):
    own = page_of(read_runs(paths))
    assert [run.label for run in own.runs] == ["graph", "watershed"]
    assert [run.label for run in own.floors] == ["image-blind"]
    assert "image-blind" not in " ".join(own.verdict)
    alone = page_of(read_runs([paths[0], paths[2]]))
    assert own.verdict == alone.verdict
    html, without = report_html(own), report_html(alone)
    for anchor in ("differences", "hardest", "ranks"):
        # Of what stands above it depends only the number of a table.
        assert re.sub(r"Table \d+", "", section(html, anchor)) == re.sub(
            r"Table \d+", "", section(without, anchor)
        )


def test_it_stands_below_the_summary_with_a_sentence_and_is_never_underlined(paths):
    summary = section(report_html(page_of(read_runs(paths))), "summary")
    above, below = summary.split("Controls that a model must beat")
    assert "image-blind" not in above
    assert "a control that assigns each pixel to the nearest prompt" in below
    assert ("num best" in above, "num best" in below) == (True, False)
    assert "image-blind" in below


def test_it_is_a_thin_line_with_its_name_and_without_a_band(paths):
    own = page_of(read_runs(paths))
    figures = section(report_html(own), "figures")
    charts = [
        svg
        for svg in re.findall(r"<svg.*?</svg>", figures, flags=re.DOTALL)
        if "IoU against clicks" in svg[:200]
    ]
    assert len(charts) == 2  # one for each user
    for chart in charts:
        assert len(re.findall(r'class="curve floor d0"', chart)) == 1
        assert not re.findall(r'class="band floor', chart)
        assert len(re.findall(r'class="band c', chart)) == 2
        assert re.findall(r'class="end floor d0">([^<]*)<', chart) == ["image-blind"]
    assert "Thin grey lines" in figures


@pytest.mark.long
def test_its_run_is_told_and_its_numbers_are_in_the_file(paths, tmp_path):
    files = write_report(paths, tmp_path / "report")
    assert "<h2>image-blind</h2>" in files.html.read_text()
    rows = files.csv.read_text().splitlines()
    assert [row.split(",")[2] for row in rows[1:]].count("image-blind") == 2  # users
    assert "image-blind" not in files.paired.read_text()
    assert write_report(paths[:2], tmp_path / "one").paired is None


def test_alone_it_is_a_run_as_any_other(paths, make_run, make_ramps):
    other = make_run(make_ramps(), "d", segmenter={"kind": "segmenter", "name": "nothing"})
    own = page_of(read_runs([paths[1], other]))
    assert [run.label for run in own.runs] == ["image-blind", "nothing"]
    assert own.floors == ()


def test_a_folder_of_its_former_name_is_one_too(make_run, make_ramps, paths):
    old = make_run(make_ramps(), "old", segmenter={"kind": "segmenter", "name": "nearest-prompt"})
    assert "nearest-prompt" not in plugins_by_name("segmenter")
    runs = read_runs([paths[0], old])
    assert [run.label for run in floors_of(runs)] == ["image-blind"]
