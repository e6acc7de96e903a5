"""The sentence on top of a report, against differences that are known by hand."""

import io

import pytest
from rich.console import Console

from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.report import report_html
from segarena.reports.standings import standings
from segarena.reports.terminal import terminal_table


@pytest.fixture
def made(make_run, make_dialogue):
    """Runs whose dialogues reach IoU 0.9 in the round given for each photograph; 4 rounds."""

    def make(**needed):
        paths = []
        for name, rounds in needed.items():
            dialogues = [
                make_dialogue(f"photo-{i}", "disc-0", "centre", [0.5] * (k - 1) + [0.95])
                for i, k in enumerate(rounds)
            ]
            paths.append(make_run(dialogues, name, segmenter={"name": name}))
        return read_runs(paths, trust=True)

    return make


def verdict(runs):
    return list(page_of(runs).verdict)


def test_one_run_says_what_it_needs(made):
    (told,) = verdict(made(plain=[1, 3, 1, 3]))
    assert told == "plain needs 2.00 [1.00, 3.00] clicks for IoU 0.9 on 4 targets in 4 photographs."


def test_of_two_the_better_comes_first_with_difference_interval_and_p(made):
    (told,) = verdict(made(slow=[4, 4, 4, 4, 4, 4], fast=[2, 2, 2, 2, 2, 2]))
    assert told == (
        "fast needs 2.00 fewer clicks than slow for IoU 0.9 [2.00, 2.00] on 6 targets in 6 photographs (p = 0.031)."
    )


@pytest.mark.parametrize(
    ("slow", "fast", "why"),
    [
        (
            [4] * 5,
            [2] * 5,
            "p = 0.062; fewer than six photographs are too few for any significant difference",
        ),
        ([2] * 8, [2] * 7 + [1], "p = 1.000"),
    ],
)
def test_what_the_test_does_not_refuse_is_not_told_apart(made, slow, fast, why):
    (told,) = verdict(made(slow=slow, fast=fast))
    assert told.startswith("fast and slow do not differ significantly: fast needs ")
    assert told.endswith(f"photographs ({why}).")


def test_of_many_the_sentence_names_who_cannot_be_told_from_the_best(made):
    runs = made(a=[1] * 9, b=[1] * 8 + [2], c=[4] * 9, d=[3] * 9)
    (told,) = verdict(runs)
    assert told == (
        "a needs 1.00 [1.00, 1.00] clicks for IoU 0.9, the best mean; with all 6 pairs tested together, "
        "it does not differ significantly from b, but it is ahead of the other 2."
    )
    found = standings(runs, "centre", page_of(runs).decides)
    assert [(one.run.label, one.first, one.last) for one in found] == [
        ("a", 1, 2),
        ("b", 1, 2),
        ("d", 3, 3),
        ("c", 4, 4),
    ]


def test_whoever_is_ahead_of_all_is_said_to_be(made):
    (told,) = verdict(made(a=[1] * 9, b=[2] * 9, c=[4] * 9))
    assert told.startswith(
        "a is ahead of both others: a needs 1.00 fewer clicks than b for IoU 0.9 [1.00, 1.00] on 9 "
    )


def test_twenty_runs_can_still_be_told_apart(made):
    """190 pairs, and the smallest p-value of one pair is 1 / 2001: corrected by itself it would say nothing."""
    runs = made(best=[1] * 12, **{f"other{k}": [3, 4] * 6 for k in range(19)})
    (told,) = verdict(runs)
    assert told.startswith(
        "best is ahead of all 19 others: best needs 2.50 fewer clicks than other0 "
    )
    assert told.endswith("(p < 0.001; adjusted for all pairs p < 0.001).")
    found = standings(runs, "centre", page_of(runs).decides)
    assert [(one.first, one.last) for one in found] == [(1, 1), *[(2, 20)] * 19]


def test_the_number_of_the_verdict_is_that_of_the_table(made):
    html = report_html(page_of(made(slow=[4, 3, 4, 3, 4, 4], fast=[2, 1, 1, 2, 2, 2])))
    assert "fast needs 2.00 fewer clicks than slow" in html
    assert ">−2.00<small>[−3.00, −1.00]</small><small>p = 0.031</small>" in html
    assert html.index("fast needs") < html.index("<h2>")


def test_the_terminal_says_it_too(made):
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(terminal_table([run.folder.path for run in made(plain=[1, 3, 1, 3])]))
    assert "plain needs 2.00 [1.00, 3.00] clicks" in console.export_text()
