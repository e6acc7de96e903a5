"""The HTML of a board, without a browser."""

import re
from dataclasses import replace

from segarena.reports.boards.board import board_of
from segarena.reports.boards.board_wording import (
    ISOLATION_NOTE,
    NO_ISOLATION_NOTE,
    board_notes,
    run_remarks,
)
from segarena.reports.boards.json_export import board_data
from segarena.reports.boards.pages import ASSETS, POLICY, asset_text, board_page, run_page


def test_the_fragment_is_the_content_of_the_page(make_entry):
    board = board_of(
        [make_entry([1.0] * 12, name="<b>"), make_entry([2.0] * 12, segmenter="other")]
    )
    page = board_page(board, files=[("x.csv", "CSV")])
    part = str(page.fragment())
    assert part.strip() in page.html()
    assert "<b>&" not in part
    assert "&lt;b&gt;" in part


def test_nothing_on_the_page_needs_more_than_the_policy_allows(make_entry):
    page = board_page(board_of([make_entry([1.0] * 12)])).html("/static/")
    assert f'content="{POLICY}"' in page
    assert not re.search(r"<style| style=| on[a-z]+=|javascript:|https?://", page)
    assert re.findall(r"<script(?! src=)([^>]*)>", page) == [
        ' type="application/json" id="board-data"'
    ]
    linked = re.findall(r'(?:src|href)="/static/([^"]+)"', page)
    assert set(linked) <= set(ASSETS)
    assert all(asset_text(name) for name in linked)


def test_a_long_board_can_be_read_in_part_without_scripts(make_entry):
    board = board_of([make_entry([float(k)] * 12, segmenter=f"s{k}") for k in range(130)])
    page = board_page(board).html()
    assert "the first 100 of 130 rows" in page
    assert page.count('<td class="num" data-value="') >= 100
    assert page.count("<tr>") == 1 + 100


def test_a_board_and_the_page_of_a_run_state_its_isolation(make_entry):
    entries = [
        make_entry([float(number)] * 12, segmenter=name) for number, name in enumerate("abc")
    ]
    unmarked = board_of(entries)
    assert NO_ISOLATION_NOTE in board_notes(unmarked)
    for number, isolation in enumerate(("sandbox", "process")):
        extract = entries[number].extract
        isolated = replace(extract.segmenter, isolation=isolation)
        entries[number] = replace(entries[number], extract=replace(extract, segmenter=isolated))
    board = board_of(entries)
    assert [run_remarks(board, number) for number in range(3)] == [
        "isolated",
        "separate process",
        "",
    ]
    assert ISOLATION_NOTE in board_notes(board)
    assert NO_ISOLATION_NOTE not in board_notes(board)
    told = [entry["isolation"] for entry in board_data(board)["entries"]]
    assert told == ["sandbox", "process", ""]
    facts = [run_page(board, board.first_key, number).facts["Isolation"] for number in range(3)]
    assert [fact.split()[0] for fact in facts] == ["isolated:", "isolated", "not"]
    assert "isolated" in board_page(board).html()
