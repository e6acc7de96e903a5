"""Compared runs, and how they differ apart from their names."""

from io import StringIO

import pytest
from rich.console import Console

from segarena.records.fingerprints import write_fingerprints
from segarena.reports import terminal_table, write_report
from segarena.reports.comparability import comparability_warnings
from segarena.reports.recorded_run import read_runs

SAME = {
    "weights": {"a/sam.pth": "1"},
    "sources": {"a/mine.py": "1"},
    "packages": {"theirs": "1.0"},
    "data": "1",
}


@pytest.fixture
def pair(make_run, make_ramps):
    """Two runs, the second with another identity or configuration."""

    def make(identity=None, **changes):
        one = make_run(make_ramps(), "one", identity=SAME)
        return one, make_run(make_ramps(), "two", identity={**SAME, **(identity or {})}, **changes)

    return make


def told(paths):
    return comparability_warnings(read_runs(paths))


def test_runs_of_one_identity_are_not_told_apart(pair):
    assert told(pair()) == []


@pytest.mark.parametrize(
    ("identity", "line"),
    [
        (
            {"weights": {"b/sam.pth": "2"}},
            "Weights of disc changed between disc #1 and disc #2: sam.pth.",
        ),
        ({"sources": {"b/mine.py": "2"}}, "mine.py changed between disc #1 and disc #2."),
        ({"sources": {"a/mine.py": "2"}}, "mine.py changed between disc #1 and disc #2."),
        ({"packages": {"theirs": "2.0"}}, "theirs was 1.0 in disc #1 and 2.0 in disc #2."),
        ({"data": "2"}, "The data of disc #1 and disc #2 differ; targets are matched by name."),
        ({"weights": {"b/other.pth": "2"}, "data": "", "packages": {}}, None),
    ],
)
def test_each_difference_is_a_line_with_names(pair, identity, line):
    assert told(pair(identity)) == ([line] if line else [])


@pytest.mark.parametrize(
    ("identity", "lines"),
    [
        ({"sources": {"a/mine.py": "2"}}, ["mine.py changed between disc and square."]),
        ({"sources": {"b/mine.py": "2"}, "weights": {"a/sam.pth": "2"}}, []),
    ],
)
def test_what_two_segmenters_share_is_known_by_its_whole_path(pair, identity, lines):
    assert (
        told(pair(identity, segmenter={"kind": "segmenter", "name": "square", "options": {}}))
        == lines
    )


def test_files_of_the_data_are_named_where_they_are_known(pair):
    paths = pair({"data": "2"})
    for path, digest in zip(paths, "12", strict=True):
        write_fingerprints(path, [("masks/a.png", digest), ("masks/b.png", "same")])
    (line,) = told(paths)
    assert (
        line
        == "The data of disc #1 and disc #2 differ (1 of 2: masks/a.png); targets are matched by name."
    )


def test_another_version_is_told_in_the_terminal_and_on_the_page(pair, tmp_path):
    paths = pair(version="0.2.0")
    line = (
        "disc #1 was made by segarena 0.1.0, disc #2 by 0.2.0; rules may have changed in between."
    )
    console = Console(width=200, record=True, file=StringIO())
    console.print(terminal_table(paths))
    assert line in console.export_text()
    assert line in write_report(paths, tmp_path / "report").html.read_text()
