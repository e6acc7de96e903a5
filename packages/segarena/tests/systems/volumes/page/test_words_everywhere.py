"""Prompts in words and seconds of a person wherever runs on volumes are shown."""

import io

import pytest
from rich.console import Console

import segarena
from segarena.reports import terminal_table
from segarena.reports.boards import Entry, board_of, extract_of, write_site
from segarena.reports.dialogue_gallery import all_dialogue_keys, make_gallery
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.report import report_html

WORDS = "three boxes interpolated, then scribbles"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return segarena.evaluate(
        "radioactive",
        segmenter="image-blind",
        dataset="phantom(cases=1, shape=(20, 48, 48))",
        prompts=("3b-inter", "1-ppv"),
        refine="scribble",
        rounds=2,
        out=tmp_path_factory.mktemp("run"),
    )


def test_the_terminal_describes_prompts_and_estimates_seconds(run):
    text = io.StringIO()
    Console(file=text, width=200).print(terminal_table([run.path]))
    assert f"3b-inter.scribble: {WORDS}" in text.getvalue()
    assert f"With 3b-inter.scribble ({WORDS})" in text.getvalue()
    (line,) = [line for line in text.getvalue().splitlines() if line.startswith("person/dialogue")]
    assert line.count(" s") >= 2


@pytest.mark.long
def test_tables_cards_and_header_of_the_page_describe_prompts(run):
    own = page_of(read_runs([run.path]))
    keys = all_dialogue_keys(own)
    gallery = make_gallery(own, own.pictures, keys[:1], every=keys)
    assert gallery.cards[0].user_words == own.users_in_words[keys[0][2]]
    # The pictures of all cards take seconds.
    own.leaves_out |= {"gallery"}
    page = report_html(own)
    assert f"3b-inter.scribble ({WORDS})" in page
    assert f"<small>{WORDS}</small>" in page
    assert "Person / dialogue" in page
    assert "Seconds, whole dialogue" in page


def test_a_board_describes_the_prompts_among_which_one_chooses(run, tmp_path):
    board = board_of([Entry(extract=extract_of(run.path))])
    page = write_site(board, tmp_path).index.read_text(encoding="utf-8")
    assert f'<option value="3b-inter.scribble">3b-inter.scribble ({WORDS})</option>' in page
