"""Published figures next to your own runs: which rows are shown, and the notes on the others."""

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from segarena.errors import UnknownPlugin
from segarena.published import find_table
from segarena.reports import terminal_of, write_report
from segarena.reports.measure_lookup import look_up_measure, page_tables
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs

LAB = """
system = "lab"
paper = "A lab, 2020"
[benchmark]
name = "small"
needs = { protocol = "careful" }
[datasets.Photographs]
plugin = "%(dataset)s(count=4)"
samples = 4
[datasets.Elsewhere]
plugin = "other(path='{path}')"
[measures.noc]
title = "NoC@90"
higher_is_better = false
sheet = "summary"
row = { user = "{user}" }
column = "NoC@90"
[measures.iou]
title = "IoU@1"
unit = "%%"
scale = 100.0
sheet = "summary"
row = { user = "{user}" }
column = "IoU@1"
needs = { rounds = "%(rounds)s" }
[measures.seconds]
title = "Seconds"
why_not = "it was their machine"
[conditions.Centre]
user = "centre"
[conditions.Nobody]
user = "nobody"
[tables.1]
title = "Two models."
where = "p. 7"
figures = \"\"\"
model | condition | Photographs/noc | Photographs/iou | Photographs/seconds | Elsewhere/noc
Old   | Centre    | 6.40            | 51.2            | 3                   | 9.99
Older | Centre    | 7.1             | NaN             | 4                   | 9.98
Old   | Nobody    | 8.88            | 40.0            | 5                   | 9.97
\"\"\"
"""


PHOTOGRAPHS = str(Path(__file__).parent / "photographs.py") + ":Photographs"


@pytest.fixture
def lab(tmp_path):
    """Return a function that writes a table on the generated photographs and returns its path."""

    def write(dataset=PHOTOGRAPHS, rounds="4"):
        file = tmp_path / "lab.toml"
        file.write_text(LAB % {"dataset": dataset, "rounds": rounds}, encoding="utf-8")
        return str(file)

    return write


@pytest.fixture
def report(make_run, make_ramps, tmp_path):
    """Return a function that reports on a small run next to a table."""

    def write(table, **changes):
        return write_report(
            [make_run(make_ramps(), **changes)], tmp_path / "report", beside=[table]
        )

    return write


def rows_of(files):
    return list(csv.DictReader(io.StringIO((files.html.parent / "beside.csv").read_text("utf-8"))))


def test_published_rows_follow_ones_own_and_are_marked(report, lab):
    own, *published = rows_of(report(lab()))
    assert (own["segmenter"], own["from"]) == ("disc", "run here")
    assert [(row["segmenter"], row["from"]) for row in published] == [
        ("Old", "published, not run here"),
        ("Older", "published, not run here"),
    ]
    assert [row["noc"] for row in published] == ["6.4", "7.1"]
    assert [row["iou"] for row in published] == ["51.2", ""]


def test_ones_own_numbers_are_those_of_the_summary_in_the_papers_unit(report, lab):
    files = report(lab())
    own = rows_of(files)[0]
    (summary,) = [
        row
        for row in csv.DictReader(io.StringIO(files.csv.read_text("utf-8")))
        if row["user"] == "centre"
    ]
    assert float(own["noc"]) == pytest.approx(float(summary["NoC@90"]), rel=1e-5)
    assert float(own["iou low"]) == pytest.approx(100 * float(summary["IoU@1 low"]), rel=1e-4)


def test_the_page_the_terminal_and_latex_have_the_rows_too(report, lab):
    files = report(lab())
    html = files.html.read_text("utf-8")
    summary = html[html.index('<section id="summary">') :]
    summary = summary[: summary.index("</section>")]
    assert "published, not run here" in summary
    assert "A lab, 2020, p. 7." in summary
    assert "published, not run here" in (files.html.parent / "beside.tex").read_text("utf-8")
    console = Console(width=160, file=io.StringIO())
    console.print(terminal_of(files.page))
    assert "published, not run here" in console.file.getvalue()


def test_other_datasets_and_users_that_did_not_take_part_stay_out(report, lab):
    figures = {row["noc"] for row in rows_of(report(lab()))}
    assert not figures & {"9.99", "9.98", "9.97", "8.88"}


def test_measures_that_do_not_agree_are_left_out_and_named(report, lab):
    files = report(lab(rounds="20"))
    assert "iou" not in rows_of(files)[0]
    assert "IoU@1 of disc is measured differently: rounds is 4, expected 20." in files.notes
    assert "Seconds: it was their machine." in files.notes


@pytest.mark.parametrize(
    ("changes", "dataset", "words"),
    [
        (
            {"benchmark": {"protocol": "published"}},
            PHOTOGRAPHS,
            "protocol is published, expected careful",
        ),
        ({"benchmark": {"name": "large"}}, PHOTOGRAPHS, "benchmark is large, expected small"),
        ({}, "sample-squares", "the table covers Photographs, Elsewhere"),
        (
            {"undone": ("photo-9",)},
            PHOTOGRAPHS,
            "it is on 5 photographs of Photographs; the table covers 4",
        ),
    ],
)
def test_a_run_by_other_rules_or_on_other_data_has_no_rows_beside_it(
    report, lab, changes, dataset, words
):
    files = report(lab(dataset), **changes)
    assert not (files.html.parent / "beside.csv").exists()
    assert "published, not run here" not in files.html.read_text("utf-8")
    assert any(
        "disc is not comparable with lab:1" in note and words in note for note in files.notes
    )


def test_an_unknown_table_is_refused_before_anything_is_written(report, tmp_path):
    with pytest.raises(UnknownPlugin, match="rclicks has rclicks:4"):
        report("rclicks:99")
    assert not (tmp_path / "report").exists()


@pytest.mark.long
def test_clicking_groups_stand_beside_the_paper_where_the_click_model_is_the_papers(
    rclicks, make_ramps, tmp_path
):
    groups = [{"user": f"G{k}", "low": (k - 1) / 10, "high": k / 10} for k in range(1, 11)]
    users = ("centre", *(group["user"] for group in groups))
    samples = {"kind": "dataset", "name": "grabcut", "options": {"path": "x"}}
    about = {"dataset": samples, "protocol": "published", "rounds": 20}
    network = {"written": "network(path='w.pt')", "sha256": None}
    dialogues = make_ramps(users, samples=50, targets=1, rounds=20)
    run = rclicks(dialogues, masks=False, click_model=network, groups=groups, **about)
    files = write_report([run], tmp_path / "report", beside=["rclicks:9"])
    (own,) = rows_of(files)
    robustness = csv.DictReader(
        io.StringIO((tmp_path / "report" / "robustness.csv").read_text("utf-8"))
    )
    (row,) = [row for row in robustness if row["statistic"] == "NoC@90"]
    assert float(own["noc"]) == pytest.approx(float(row["sample"]), rel=1e-5)
    assert float(own["noc-agr"]) == pytest.approx(100 * float(row["agr"]), rel=1e-4)
    assert any("Some figures of rclicks:9 are missing" in note for note in files.notes)


@pytest.mark.parametrize(
    "name", ["rclicks:4", "rclicks:9", "rclicks:10", "rclicks:11", "rclicks:12"]
)
def test_published_tables_find_their_measures_in_the_report(rclicks, make_ramps, name):
    """The file of published figures uses the names of our tables."""
    first = [
        one
        for who in ("real", "sampled")
        for one in make_ramps((who,), samples=2, targets=1, rounds=1)
    ]
    run = rclicks(
        [*make_ramps(("centre", "G1", "G2", "G3", "G4"), samples=2, targets=1, rounds=4), *first],
        masks=False,
        protocol="published",
        real="real",
        sampled="sampled",
    )
    table = find_table(name)
    told = page_tables(page_of(read_runs([run])))
    lost = [
        name
        for name, measure in table.measures.items()
        if look_up_measure(told, measure, {}) is None
    ]
    assert lost == []
