"""A sheet with its four renderers, and names that look like markup."""

import csv
import io
import math

import pytest
from rich.console import Console

from segarena.reports.cells import Column, Link, Value
from segarena.reports.renderers.csv import sheet_csv
from segarena.reports.renderers.html import sheet_html
from segarena.reports.renderers.latex import sheet_tex
from segarena.reports.renderers.terminal import sheet_terminal
from segarena.reports.sheets import Sheet

HOSTILE = "\"'><script>alert(1)</script>{{7*7}}{% raw %}&amp;"


@pytest.fixture
def sheet():
    head = (
        Column("Segmenter", key="segmenter"),
        Column("Words", "words"),
        Column("Loss", "interval", definition="how much is lost", higher_is_better=False),
        Column("Gain", "number", "gain", higher_is_better=True),
        "Targets",
    )
    lost = Value(mean=-0.25, low=-0.5, high=0.1, is_signed=True, mark="worse")
    rows = (
        (Link("graph", "card-1"), "two words", lost, Value(mean=0.5, is_share=True, decimals=1), 3),
        ("grabcut", "", Value(mean=math.nan), Value(mean=2, printed="2 of 3"), 12),
    )
    return Sheet(name="losses", caption="What is lost.", head=head, rows=rows)


def test_csv_is_headed_by_keys_and_gives_intervals_three_columns(sheet):
    assert sheet_csv(sheet).splitlines() == [
        "segmenter,Words,Loss,Loss low,Loss high,gain,Targets",
        "graph,two words,-0.25,-0.5,0.1,0.5,3",
        "grabcut,,,,,2,12",
    ]


def test_latex_aligns_by_kind_and_sets_marked_numbers_in_bold(sheet):
    assert sheet_tex(sheet).splitlines() == [
        "% What is lost.",
        r"\begin{tabular}{llrrr}",
        r"\toprule",
        r"Segmenter & Words & Loss $\downarrow$ & Gain $\uparrow$ & Targets \\",
        r"\midrule",
        r"graph & two words & \textbf{$-$0.250} {\scriptsize [$-$0.500, +0.100]} & 50.0 & 3 \\",
        r"grabcut &  & -- & 2 of 3 & 12 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_html_tells_sorting_what_a_number_is_and_headings_what_it_means(sheet):
    html = sheet_html(sheet)
    assert '<td class="text" title="graph"><a href="#card-1">graph</a></td>' in html
    assert '<td class="words">two words</td>' in html
    assert (
        '<td class="num worse" data-value="-0.25">−0.250<small>[−0.500, +0.100]</small></td>'
        in html
    )
    assert '<td class="num" data-value="">–</td>' in html
    assert '<th class="num" scope="col" title="how much is lost">Loss ↓</th>' in html
    assert '<th class="num" scope="col" data-key="gain" data-first="descending">Gain ↑</th>' in html


def test_on_the_terminal_rows_stand_side_by_side(sheet):
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(sheet_terminal(sheet))
    lines = [line.split() for line in console.export_text().splitlines()]
    assert lines[0] == ["segmenter", "graph", "grabcut"]
    assert ["gain", "↑", "50.0", "2", "of", "3"] in lines


def test_columns_are_picked_by_key_in_the_order_asked_for(sheet):
    picked = sheet.pick("Targets", "segmenter")
    assert picked.keys == ["Targets", "segmenter"]
    assert picked.rows == ((3, Link("graph", "card-1")), (12, "grabcut"))


@pytest.mark.parametrize("kind", ["text", "words"])
def test_hostile_names_stay_text_in_every_place_of_a_table(kind):
    head = (Column(HOSTILE, kind, definition=HOSTILE), "Number")
    number = Value(mean=1.0, printed=HOSTILE, printed_bounds=HOSTILE)
    cell = Link(HOSTILE, HOSTILE) if kind == "text" else HOSTILE
    html = sheet_html(Sheet(name="x", caption="", head=head, rows=((cell, number),)))
    assert "<script" not in html
    assert "49" not in html
    assert html.count("{{7*7}}") == {"text": 7, "words": 5}[kind]
    assert html.count('"') % 2 == 0


def test_hostile_names_are_one_cell_of_csv_and_printed_by_latex():
    sheet = Sheet(name="x", caption=f"a\n{HOSTILE}", head=("Name",), rows=((f"{HOSTILE}\n,x",),))
    assert list(csv.reader(io.StringIO(sheet_csv(sheet)))) == [["Name"], [f"{HOSTILE}\n,x"]]
    assert sheet_tex(sheet).splitlines()[0] == f"% a {HOSTILE}"
    assert r"\{\{7*7\}\}" in sheet_tex(sheet)
