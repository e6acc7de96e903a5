"""The HTML of a board, without a browser."""

import re

from segarena.reports.boards.board import board_of
from segarena.reports.boards.pages import ASSETS, POLICY, asset_text, board_html, board_parts


def test_the_part_for_a_page_of_ones_own_is_what_the_page_has(make_entry):
    board = board_of(
        [make_entry([1.0] * 12, name="<b>"), make_entry([2.0] * 12, segmenter="other")]
    )
    part = str(board_parts(board, files=[("x.csv", "CSV")]))
    assert part in board_html(board, files=[("x.csv", "CSV")])
    assert "<b>&lt;" not in part
    assert "&lt;b&gt;" in part


def test_nothing_on_the_page_needs_more_than_the_policy_allows(make_entry):
    page = board_html(board_of([make_entry([1.0] * 12)]), assets="/static/")
    assert POLICY.replace("'", "&#39;") in page
    assert not re.search(r"<style| style=| on[a-z]+=|javascript:|https?://", page)
    assert re.findall(r"<script(?! defer src=)([^>]*)>", page) == [
        ' type="application/json" id="told"'
    ]
    linked = re.findall(r'(?:src|href)="/static/([^"]+)"', page)
    assert set(linked) <= set(ASSETS)
    assert all(asset_text(name) for name in linked)


def test_a_long_board_can_be_read_in_part_without_scripts(make_entry):
    page = board_html(
        board_of([make_entry([float(k)] * 12, segmenter=f"s{k}") for k in range(130)])
    )
    assert "the first 100 of 130 rows" in page
    assert page.count('<td class="who">') == 100
