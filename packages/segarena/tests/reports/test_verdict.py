"""The first sentences of a report, compared with differences that are known by hand."""

import io
import re

import pytest
from rich.console import Console

from segarena.reports.boards.board import Entry, board_of
from segarena.reports.boards.board_wording import leader_text
from segarena.reports.boards.extracts import extract_of
from segarena.reports.cells import p_value_text
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
    assert told == (
        "plain reaches IoU 0.9 on all 4 targets in 4 photographs, after 2.00 [1.00, 3.00] clicks on average; "
        "with only 4 photographs, the interval is rough."
    )


def test_of_two_the_better_comes_first_with_difference_interval_and_p(made):
    (told,) = verdict(made(slow=[4, 4, 4, 4, 4, 4], fast=[2, 2, 2, 2, 2, 2]))
    assert told == (
        "fast needs 2.00 [2.00, 2.00] fewer clicks than slow for IoU 0.9 on 6 targets in 6 photographs (p = 0.031); "
        "with only 6 photographs, the interval is rough."
    )


@pytest.mark.parametrize(
    ("slow", "fast", "why"),
    [
        (
            [4] * 5,
            [2] * 5,
            "5 photographs. Fewer than six photographs are too few for any significant difference.",
        ),
        (
            [2] * 8,
            [2] * 7 + [1],
            "8 photographs; with only 8 photographs, the interval is rough.",
        ),
    ],
)
def test_what_the_test_does_not_refuse_is_not_told_apart(made, slow, fast, why):
    (told,) = verdict(made(slow=slow, fast=fast))
    assert re.match(
        r"fast and slow do not differ significantly \(p = \d\.\d{3}\)\. fast needs ", told
    )
    assert told.endswith(f" {why}")


def test_a_verdict_without_a_winner_names_the_statistics_that_differ(make_run, make_dialogue):
    paths = []
    for name, first in (("slow", 0.2), ("fast", 0.7)):
        # Both need two clicks on every photograph, but one is far better after the first.
        dialogues = [
            make_dialogue(f"photo-{i}", "disc-0", "centre", [first, 0.95]) for i in range(8)
        ]
        paths.append(make_run(dialogues, name, segmenter={"name": name}))
    (told,) = verdict(read_runs(paths, trust=True))
    assert "do not differ significantly" in told
    assert "NoC@90 decides, but they differ in IoU@1 and AuC (p ≤ 0.008, each tested alone)" in told


def test_of_many_the_sentence_names_who_cannot_be_told_from_the_best(made):
    runs = made(a=[1] * 9, b=[1] * 8 + [2], c=[4] * 9, d=[3] * 9)
    (told,) = verdict(runs)
    assert told == (
        "a reaches IoU 0.9 on all 9 targets in 9 photographs, after 1.00 [1.00, 1.00] clicks on average, "
        "the best mean of 4 runs; with only 9 photographs, the intervals are rough. "
        "With all 6 pairs tested together, it is ahead of "
        "d (by 2.00 [2.00, 2.00] clicks, p = 0.004) and c (by 3.00 [3.00, 3.00] clicks, p = 0.004). "
        "It does not differ significantly from b (by 0.11 [0.00, 0.33] clicks, p = 1.000)."
    )
    found = standings(runs, "centre", page_of(runs).decides)
    assert [(one.run.label, one.first, one.last) for one in found] == [
        ("a", 1, 2),
        ("b", 1, 2),
        ("d", 3, 3),
        ("c", 4, 4),
    ]


def test_the_sentence_names_all_that_the_best_run_is_ahead_of(made):
    (told,) = verdict(made(a=[1] * 9, b=[2] * 9, c=[4] * 9))
    assert "it is ahead of b (by 1.00 [1.00, 1.00] clicks, p = 0.004) and c (by 3.00 " in told
    assert "differ significantly" not in told


def test_twenty_runs_can_still_be_told_apart(made):
    """Of 190 pairs, the smallest p-value of one is 1 / 2001, so correcting single p-values finds nothing."""
    runs = made(best=[1] * 12, **{f"other{k}": [3, 4] * 6 for k in range(19)})
    (told,) = verdict(runs)
    assert "it is ahead of other0 (by 2.50 [2.17, 2.83] clicks, p < 0.001), other1 " in told
    assert told.endswith(" and 16 more (by 2.50 clicks).")
    found = standings(runs, "centre", page_of(runs).decides)
    assert [(one.first, one.last) for one in found] == [(1, 1), *[(2, 20)] * 19]


def test_the_number_of_the_verdict_is_that_of_the_table(made):
    html = report_html(page_of(made(slow=[4, 3, 4, 3, 4, 4], fast=[2, 1, 1, 2, 2, 2])))
    assert "fast needs 2.00 [1.00, 3.00] fewer clicks than slow" in html
    assert ">−2.00<small>[−3.00, −1.00]</small><small>p = 0.031</small>" in html
    assert html.index("fast needs") < html.index("<h2>")


def test_the_terminal_says_it_too(made):
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(terminal_table([run.folder.path for run in made(plain=[1, 3, 1, 3])]))
    assert "after 2.00 [1.00, 3.00] clicks on average" in console.export_text()


@pytest.fixture
def valued(make_run, make_dialogue):
    """Runs with given IoU curves, one per photograph."""

    def make(**curves):
        paths = []
        for name, of_run in curves.items():
            dialogues = [
                make_dialogue(f"photo-{i}", "disc-0", "centre", curve)
                for i, curve in enumerate(of_run)
            ]
            paths.append(make_run(dialogues, name, segmenter={"name": name}))
        return read_runs(paths, trust=True)

    return make


NEVER = [0.2, 0.4, 0.5, 0.6]


def test_a_threshold_that_no_target_reaches_has_no_number_of_clicks(valued):
    (told,) = verdict(valued(poor=[NEVER] * 6))
    assert told == "poor reaches IoU 0.9 on none of 6 targets in 6 photographs within 4 clicks."


def test_runs_that_never_reach_the_threshold_are_compared_by_their_last_masks(valued):
    better = [0.2, 0.4, 0.5, 0.7]
    (told,) = verdict(valued(poor=[NEVER] * 6, fair=[better] * 6))
    assert told.startswith("Neither poor nor fair reaches IoU 0.9 within 4 clicks on any of 6 ")
    assert told.endswith(" photographs. IoU@4 is 0.700 for fair and 0.600 for poor.")
    assert "fewer" not in told


def test_unsolved_targets_are_counted_in_the_sentence(valued):
    solved = [0.5, 0.95, 0.95, 0.95]
    (told,) = verdict(valued(half=[solved, solved, NEVER, NEVER]))
    assert told.startswith(
        "half reaches IoU 0.9 on 2 of 4 targets in 4 photographs, "
        "after 3.00 [2.00, 4.00] clicks on average (unsolved counted as 4)"
    )


def test_fewer_clicks_with_more_failures_and_worse_masks_are_not_a_plain_win(valued):
    quick = [0.95, 0.95, 0.95, 0.95]
    late = [0.5, 0.5, 0.5, 0.95]
    (told,) = verdict(valued(rash=[quick] * 5 + [NEVER] * 3, steady=[late] * 8))
    assert "rash needs 1.88 [" in told
    assert "(unsolved counted as 4)" in told
    assert told.endswith(
        ". However, rash fails more often (37.5 % against 0.0 %) and ends lower (IoU@4 0.819 against 0.950)."
    )


@pytest.fixture
def uneven(make_run, make_dialogue):
    """Folders of two runs on eight photographs, one of which has ten times as many targets."""

    def folder(name, usual, crowded):
        dialogues = []
        for photo in range(8):
            targets = 10 if photo == 0 else 1
            clicks = crowded if photo == 0 else usual[photo - 1]
            for target in range(targets):
                curve = [0.5] * (clicks - 1) + [0.95]
                one = make_dialogue(f"photo-{photo}", f"disc-{target}", "centre", curve)
                dialogues.append(one)
        return make_run(dialogues, name, segmenter={"name": name})

    return folder("a", [1, 2, 1, 2, 1, 2, 1], 4), folder("b", [3] * 7, 3)


def test_report_and_board_use_one_test_and_another_p_is_explained(uneven):
    runs = read_runs(uneven, trust=True)
    (told,) = verdict(runs)
    board = board_of([Entry(extract=extract_of(path)) for path in uneven])
    key = board.first_key
    sentence = leader_text(board, key, board.rows(key))
    assert sentence.startswith("a is first in NoC@90 with ")
    is_clear = bool(board.panels[key].ahead.any())
    assert is_clear is not told.startswith("a and b do not differ significantly")
    lead = standings(runs, "centre", page_of(runs).decides)[0]
    by_photograph = p_value_text(lead.adjusted["b"])
    by_target = p_value_text(lead.leads["b"].p_value)
    assert by_photograph != by_target
    assert f"({by_photograph})" in told
    assert "The test gives each photograph equal weight, as on boards; with equal weight " in told
    assert f"for each target, as in the interval, {by_target}." in told
    # Each sentence has one thought.
    assert max(len(sentence.split()) for sentence in told.split(". ")) <= 32
