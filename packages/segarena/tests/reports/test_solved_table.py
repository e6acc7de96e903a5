"""Solved by click: shares and restricted means, compared with counts by hand."""

import pytest

from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.report import report_html
from segarena.reports.solved_table import checkpoints, solved_sheet


@pytest.fixture
def runs(make_run, make_dialogue):
    """A run of 4 clicks: targets solved at clicks 1, 2 and 4, and one never."""
    dialogues = []
    for photo, clicks in enumerate([1, 2, 4, None]):
        unsolved = 4 if clicks is None else clicks - 1
        curve = [0.5] * unsolved + [0.95] * (4 - unsolved)
        dialogues.append(make_dialogue(f"photo-{photo}", "disc-0", "centre", curve))
    return read_runs([make_run(dialogues)], trust=True)


def test_shares_and_restricted_means_are_those_of_the_clicks(runs):
    sheet = solved_sheet(runs, page_of(runs).decides, word="click", target="target")
    (row,) = sheet.rows
    means = dict(zip(sheet.keys[2:], [cell.mean for cell in row[2:]], strict=True))
    assert means == {
        "solved_1": 0.25,
        "solved_2": 0.5,
        "solved_3": 0.5,
        "solved_4": 0.75,
        "mean_2": (1 + 2 + 2 + 2) / 4,
        "mean_3": (1 + 2 + 3 + 3) / 4,
        "mean_4": (1 + 2 + 4 + 4) / 4,
    }


def test_the_page_has_the_table(runs):
    html = report_html(page_of(runs))
    section = html[html.index('<section id="solved"') :]
    assert "Share of targets that reached IoU of 0.9 within a number of clicks" in section
    assert "75.0 %" in section


@pytest.mark.parametrize(
    ("rounds", "expected"), [(1, [1]), (4, [1, 2, 3, 4]), (20, [1, 2, 3, 5, 10, 20])]
)
def test_checkpoints_end_with_the_last_round(rounds, expected):
    assert checkpoints(rounds) == expected
