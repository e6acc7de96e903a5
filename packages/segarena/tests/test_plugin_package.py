"""A third party's package adds a benchmark with its page, a command and a statistic without changes to segarena."""

import csv
import io
from itertools import pairwise

import pytest
from rich.console import Console

from segarena import evaluate
from segarena.errors import PluginError
from segarena.registry import plugins_by_name
from segarena.reports import terminal_table, write_report
from segarena.reports.page_parts import FigureRow, Fold, Html, Note, Section, are_empty
from segarena.reports.pages import Page, page, page_of
from segarena.reports.recorded_run import read_runs


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of the package's benchmark by the package's segmenter on the package's dataset."""
    folder = tmp_path_factory.mktemp("sample") / "run"
    return evaluate("sample-steady", segmenter="sample-disc(radius_px=5)", out=folder).path


@pytest.fixture(scope="module")
def report(run, tmp_path_factory):
    return write_report([run], tmp_path_factory.mktemp("report"), trust=True)


def test_its_section_stands_before_the_general_ones_with_a_numbered_table(report):
    html = report.html.read_text(encoding="utf-8")
    assert html.index('<section id="gains"><h2>Gains</h2>') < html.index('<section id="summary">')
    assert '<p class="lead">IoU after a nudge less that before it.</p>' in html
    assert "<b>Table 1. </b> What each nudge gained." in html
    assert "<b>Table 2. </b> Means over targets." in html


def test_its_words_are_used_and_what_it_leaves_out_is_missing(report):
    html = report.html.read_text(encoding="utf-8")
    assert "IoU against nudges" in html
    assert "at most 3 nudges" in html
    assert "Distribution of" not in html


def test_its_statistic_is_computed_printed_and_defined(report, run):
    (read,) = read_runs([run], trust=True)
    expected = [sum(b < a for a, b in pairwise(d.values["iou"])) for d in read.finished()]
    (row,) = csv.DictReader(io.StringIO(report.csv.read_text()))
    assert float(row["Setbacks"]) == pytest.approx(sum(expected) / len(expected))
    html = report.html.read_text(encoding="utf-8")
    assert (
        "<li>Setbacks: how many of 3 rounds left IoU lower than it was. Lower is better.</li>"
        in html
    )
    assert f'data-value="{float(row["Setbacks"]):.6g}">{float(row["Setbacks"]):.1f}<' in html


def test_its_file_and_its_terminal_table_have_the_same_numbers(report, run):
    assert [path.name for path in report.further] == ["gains.csv"]
    rows = list(csv.DictReader(io.StringIO(report.further[0].read_text())))
    (read,) = read_runs([run], trust=True)
    for row, dialogue in zip(rows, read.finished(), strict=True):
        first, second, _ = dialogue.values["iou"]
        assert float(row["Nudge 2"]) == pytest.approx(second - first, abs=1e-5)
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(terminal_table([run]))
    printed = console.export_text()
    assert "square-0 / object" in printed
    assert printed.index("Nudge 2") < printed.index("time/round")


def test_its_command_is_in_the_help_and_runs(segarena, run):
    assert "Commands of the sample package." in segarena("--help").stdout
    assert segarena("sample", "rounds", run).stdout == "9 rounds\n"


def test_its_plugins_are_listed(segarena):
    assert "sample-setbacks" in plugins_by_name("statistic")
    assert "sample-steady" in segarena("list", "benchmarks").stdout


def test_a_benchmark_has_one_page():
    with pytest.raises(PluginError, match="'sample-steady' has two pages"):

        @page("sample-steady")
        class Another(Page):
            pass


def test_a_benchmark_without_a_page_has_the_general_one(small_run):
    assert type(page_of(read_runs([small_run().path], trust=True))) is Page


def test_parts_without_content_are_nothing():
    nothing = [None, Note(""), Html(""), FigureRow([]), Fold("title", [Note("")])]
    assert are_empty(Section("a", "A", nothing).parts)
    assert not are_empty([*nothing, Note("word")])


def test_its_published_table_stands_beside_its_run(run, tmp_path):
    files = write_report([run], tmp_path / "beside", trust=True, beside=["sample:1"])
    own, old = csv.DictReader(io.StringIO((tmp_path / "beside" / "beside.csv").read_text("utf-8")))
    assert (old["segmenter"], old["setbacks"], old["from"]) == (
        "Old disc",
        "1.5",
        "published, not run here",
    )
    (summary,) = csv.DictReader(io.StringIO(files.csv.read_text("utf-8")))
    assert float(own["setbacks"]) == pytest.approx(float(summary["Setbacks"]), rel=1e-5)
