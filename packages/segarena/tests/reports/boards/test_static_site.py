"""A board as a folder: pictures of the best runs, and notes about those that cannot be shown."""

import json
import re

import pytest

from segarena.reports.boards.board import Entry, board_of
from segarena.reports.boards.extracts import extract_of
from segarena.reports.boards.static_site import write_site


@pytest.fixture
def runs(make_run, make_ramps):
    """Two runs on the made-up photographs, with masks."""
    paths = [
        make_run(make_ramps(("centre",), lift=lift), name, segmenter={"name": name})
        for name, lift in (("a", 0), ("<b>", 0.1))
    ]
    return {Entry(extract=extract_of(path)): path for path in paths}


def test_each_sample_has_the_pictures_of_its_targets_in_every_run(runs, tmp_path):
    files = write_site(board_of(list(runs)), tmp_path / "site", runs=runs, trust=True)
    assert files.pages == 4
    page = (tmp_path / "site" / "samples" / "0001.html").read_text(encoding="utf-8")
    assert len(re.findall('<article class="card" id="dialogue-[12]"', page)) == 2
    contents = re.findall(r'<div class="viewer"><script[^>]*>(.*?)</script>', page)
    assert [len(json.loads(content)["dialogues"]) for content in contents] == [2, 2]
    assert "&lt;b&gt;" in page
    assert "<b>&" not in page
    assert " style=" not in page
    index = files.index.read_text(encoding="utf-8")
    assert 'href="samples/0001.html#dialogue-1"' in index


def test_a_dataset_that_is_not_trusted_is_not_run_but_values_are_there(runs, tmp_path):
    files = write_site(board_of(list(runs)), tmp_path / "site", runs=runs)
    assert any("--trust" in note for note in files.notes)
    page = (tmp_path / "site" / "samples" / "0004.html").read_text(encoding="utf-8")
    assert 'class="viewer"' not in page
    assert page.count("<tr>") == 3


def test_only_the_hardest_samples_have_pictures_where_that_is_asked(runs, tmp_path):
    write_site(board_of(list(runs)), tmp_path / "site", runs=runs, trust=True, pictured=1)
    with_pictures = [
        file.name
        for file in sorted((tmp_path / "site" / "samples").iterdir())
        if 'class="viewer"' in file.read_text("utf-8")
    ]
    assert with_pictures == ["0001.html"]
