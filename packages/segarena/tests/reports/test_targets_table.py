"""The table of targets: a row for each target, whatever happened to it, and long tables as data."""

import csv
import io
import json
import math
import re

import pytest

from segarena.reports.cells import Column, Link, Value
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.renderers.csv import sheet_csv
from segarena.reports.renderers.html import sheet_html
from segarena.reports.report import report_html
from segarena.reports.sheets import Sheet
from segarena.reports.table_html import MAX_WRITTEN_ROWS, NOSCRIPT_ROWS
from segarena.reports.targets_table import target_values_sheet

HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture
def runs(make_run, make_dialogue):
    def one(name, values):
        dialogues = [
            make_dialogue(sample, "disc-0", "centre", ious) for sample, ious in values.items()
        ]
        return make_run(dialogues, name, segmenter={"name": name})

    slow = {"photo-0": [0.2, 0.95], "photo-1": [0.2, 0.3, 0.4, 0.95], "photo-2": [0.95]}
    fast = {"photo-0": [0.95], "photo-1": [0.2, 0.3, 0.95]}
    return read_runs([one("slow", slow), one("fast", fast)], trust=True)


def test_each_target_has_its_value_in_each_run_and_the_difference_hardest_first(runs):
    sheet = target_values_sheet(runs, page_of(runs).decides, {})
    rows = list(csv.DictReader(io.StringIO(sheet_csv(sheet))))
    told = [tuple(row[name] for name in ("sample", "slow", "fast", "difference")) for row in rows]
    assert told == [
        ("photo-1", "4", "3", "-1"),
        ("photo-0", "2", "1", "-1"),
        ("photo-2", "1", "", ""),
    ]
    assert sheet.columns[-1].heading == "fast − slow"


def test_rows_lead_to_the_dialogue_in_the_gallery(runs):
    html = report_html(page_of(runs))
    section = html[html.index('id="targets"') : html.index('id="gallery"')]
    links = dict(
        re.findall(
            r'<a href="#(dialogue-\d+)">disc-0</a></td><td class="text" title="(photo-\d)"', section
        )
    )
    cards = re.findall(
        r'<article class="card" id="(dialogue-\d+)" .*?<span class="where">(photo-\d)',
        html,
        re.DOTALL,
    )
    assert links == dict(cards)
    assert len(links) == 3


def test_a_long_table_is_data_with_its_first_rows_to_read(runs):
    number = Column("n", "number")
    rows = tuple(
        (Link(HOSTILE, "a"), HOSTILE, Value(mean=i / 3, mark="best", p_value=0.5))
        for i in range(MAX_WRITTEN_ROWS)
    )
    more = (*rows, (Link("last"), "", Value(mean=math.nan)))
    short, long = (
        sheet_html(Sheet(name="x", caption="", head=("name", "words", number), rows=those))
        for those in (rows, more)
    )
    assert (short.count("<tr>"), short.count("application/json")) == (MAX_WRITTEN_ROWS + 1, 0)
    assert long.count("<tr>") == NOSCRIPT_ROWS + 1
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', long).group(1))
    assert data[1] == [["#a", HOSTILE], HOSTILE, [0.333333, "0.333", "best", "p = 0.500"]]
    assert data[-1] == ["last", "", [None, "–", ""]]
    assert len(data) == len(more)


def test_a_limited_table_has_the_hardest_rows_and_names_the_file_with_the_others(runs):
    whole = target_values_sheet(runs, page_of(runs).decides, {})
    short = target_values_sheet(runs, page_of(runs).decides, {}, limit=2)
    assert list(short.rows) == list(whole.rows)[:2]
    assert len(whole.rows) == 3
    assert "2 of 3 rows" in short.caption
    assert "targets.csv" in short.caption
    assert "rows" not in whole.caption


def test_a_page_shows_a_limited_number_of_targets_and_the_file_all(runs, monkeypatch):
    monkeypatch.setattr("segarena.reports.report.MAX_TARGET_ROWS", 1)
    assert "1 of 3 rows" in report_html(page_of(runs))
