"""The board as data, compared with results computed by hand."""

import math
from itertools import combinations

import numpy as np
import pytest

from segarena.errors import InvalidInput, RunConflict
from segarena.reports.boards.board import CHOICES, board_of
from segarena.reports.boards.board_wording import leader_text, shared_text
from segarena.reports.boards.json_export import board_data
from segarena.reports.boards.pages import board_page, run_page
from segarena.reports.boards.statistic_rankings import Panel, PanelKey, rank_panel
from segarena.roles import Statistic
from segarena.statistics.intervals import Interval, bootstrap_mean, paired_difference

NOC = Statistic(name="NoC@90", kind="noc", threshold=0.9, higher_is_better=False)
MAIN = PanelKey("photos", "centre", "", "NoC@90")


@pytest.fixture
def steps(make_entry, rng):
    """Four segmenters on twelve photographs: a needs one click fewer than b, b fewer than c and d, who are alike."""
    base = rng.integers(3, 9, 24).astype(float)
    lifts = {
        "a": 0.0,
        "b": 1.0,
        "c": 2.0 + rng.choice([-0.5, 0.5], 24),
        "d": 2.0 + rng.choice([-0.5, 0.5], 24),
    }
    return [make_entry(base + lift, segmenter=name) for name, lift in lifts.items()]


def test_the_best_comes_first_with_the_places_that_the_tests_leave_open(steps):
    board = board_of(steps)
    rows = board.rows(MAIN)
    assert [board.names[row.entry] for row in rows][:2] == ["a", "b"]
    assert [(row.place, row.first, row.last) for row in rows] == [
        (1, 1, 1),
        (2, 2, 2),
        (3, 3, 4),
        (4, 3, 4),
    ]


def test_means_and_intervals_are_those_of_reports(steps):
    board = board_of(steps)
    clusters = [number // 2 for number in range(24)]
    for row in board.rows(MAIN):
        values = board.entries[row.entry].extract.values["centre"]["NoC@90"]
        expected = bootstrap_mean(values, clusters)
        assert (row.mean.mean, row.mean.low, row.mean.high) == pytest.approx(
            (expected.mean, expected.low, expected.high)
        )


def test_of_two_runs_the_paired_test_decides(make_entry, rng):
    for lift in (0.05, 0.6):
        one, other = rng.normal(5, 1, 24), rng.normal(5 + lift, 1, 24)
        panel = board_of([make_entry(one, segmenter="a"), make_entry(other, segmenter="b")]).panels[
            MAIN
        ]
        expected = paired_difference(one, other, [number // 2 for number in range(24)])
        ahead = expected.p_value <= 0.05 and np.sign(-expected.difference)
        assert panel.ahead.tolist() == [[False, ahead == 1], [ahead == -1, False]]


def test_nobody_is_ahead_where_samples_are_too_few(make_entry):
    rows = board_of(
        [make_entry([1.0] * 10, segmenter="a"), make_entry([9.0] * 10, segmenter="b")]
    ).rows(MAIN)
    assert [(row.place, row.first, row.last) for row in rows] == [(1, 1, 2), (2, 1, 2)]


@pytest.mark.parametrize("higher", [False, True])
def test_places_among_some_rows_are_counted_among_these(higher):
    """0 beats 1 and 2, 3 beats nobody and is beaten by 0: every subset by a loop over its pairs."""
    wins = {(0, 1), (0, 2), (0, 3), (1, 2)}
    ahead = np.array([[(i, j) in wins for j in range(4)] for i in range(4)])
    values = [1.0, 2.0, 3.0, 2.5]
    means = tuple(Interval(-value if higher else value, math.nan, math.nan, 9) for value in values)
    panel = Panel((10, 11, 12, 13), means, ahead)
    for size in range(1, 5):
        for shown in combinations(range(4), size):
            rows = rank_panel(panel, [10 + one for one in shown], higher_is_better=higher)
            assert [row.entry - 10 for row in rows] == sorted(shown, key=lambda one: values[one])
            for row in rows:
                betters = sum((other, row.entry - 10) in wins for other in shown)
                worse = sum((row.entry - 10, other) in wins for other in shown)
                assert (row.first, row.last) == (1 + betters, size - worse)


def test_equal_means_share_a_place(make_entry):
    rows = board_of([make_entry([2.0] * 12, segmenter=name) for name in "abc"]).rows(MAIN)
    assert [(row.place, row.first, row.last) for row in rows] == [(1, 1, 3)] * 3


@pytest.fixture
def tries(make_entry):
    """Ada's runs get worse and she chose her second, Bob's get better without a choice; a control belongs to nobody."""
    given = [
        ("ada", 2.0, False),
        ("bob", 5.0, False),
        ("ada", 3.0, True),
        ("bob", 1.0, False),
        ("ada", 4.0, False),
    ]
    entries = [
        make_entry(
            [value] * 12,
            participant=who,
            name=f"{who}{k}",
            at=f"2026-02-{k + 1:02}",
            is_chosen=wish,
        )
        for k, (who, value, wish) in enumerate(given)
    ]
    return [*entries, make_entry([9.0] * 12, name="blind", ignores_image=True, at="2026-02-09")]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("all", ["bob3", "ada0", "ada2", "ada4", "bob1", "blind"]),
        ("best", ["bob3", "ada0", "blind"]),
        ("last", ["bob3", "ada4", "blind"]),
        ("chosen", ["bob3", "ada2", "blind"]),
    ],
)
def test_each_participant_stands_with_the_run_of_the_choice(tries, choice, expected):
    board = board_of(tries[::-1])
    assert [board.names[row.entry] for row in board.rows(MAIN, choice)] == expected


def test_the_best_run_is_the_same_in_every_column(tries, make_entry):
    """The board's measure determines the best run, which other statistics and groups show too."""
    board = board_of(tries)
    for key in board.panels:
        assert set(board.shown(key, "best")) == set(board.shown(MAIN, "best"))


def test_what_is_frozen_leaves_no_trace(tries):
    board, without = board_of(tries, freeze="2026-02-03T12:00+01:00"), board_of(tries[:3])
    assert board.names == without.names == ("ada0", "bob1", "ada2")
    assert board.frozen == "2026-02-03T12:00+01:00"
    for choice in CHOICES:
        assert board.rows(MAIN, choice) == without.rows(MAIN, choice)
    assert all(
        (board.panels[key].ahead == without.panels[key].ahead).all() for key in without.panels
    )


def test_a_run_that_ends_at_the_freeze_still_counts(tries):
    assert board_of(tries, freeze="2026-02-03").names[-1] == "ada2"


def test_groups_are_judged_on_their_own_targets(make_entry):
    values = [1.0, 9.0] * 8  # small ones are easy, large ones hard
    board = board_of([make_entry(values, segmenter="a"), make_entry(values[::-1], segmenter="b")])
    means = {row.entry: row.mean.mean for row in board.rows(MAIN._replace(group="size: small"))}
    assert means == {0: 1.0, 1: 9.0}
    assert {key.group for key in board.panels} == {"", "size: small", "size: large"}


def test_runs_on_other_data_and_users_have_panels_of_their_own(make_entry):
    first = make_entry([1.0] * 12, segmenter="a", users=("centre", "edge"))
    board = board_of([first, make_entry([2.0] * 12, segmenter="a", data="scans")])
    assert {key[:2] for key in board.panels} == {
        ("photos", "centre"),
        ("photos", "edge"),
        ("scans", "centre"),
    }
    assert board.names == ("a on photos", "a on scans")
    assert [row.entry for row in board.rows(MAIN)] == [0]


def test_a_run_with_missing_targets_is_compared_on_those_it_has(make_entry):
    values = [1.0] * 14 + [50.0] * 4
    partial = make_entry([2.0] * 14 + [np.nan] * 4, segmenter="partial")
    rows = board_of([make_entry(values, segmenter="whole"), partial]).rows(MAIN)
    assert [(row.entry, row.mean.n) for row in rows] == [
        (1, 14),
        (0, 18),
    ]  # by the mean the partial one leads,
    assert [(row.first, row.last) for row in rows] == [
        (2, 2),
        (1, 1),
    ]  # on what both have the whole one does


def test_another_measure_may_lead(make_entry):
    board = board_of(
        [make_entry([1.0] * 12, segmenter="a"), make_entry([2.0] * 12, segmenter="b")],
        measure="AuC",
    )
    assert [row.entry for row in board.rows(board.first_key)] == [1, 0]
    assert board.first_key.statistic == "AuC"


def test_what_cannot_be_a_board_is_refused(make_entry):
    entry = make_entry([1.0] * 4)
    with pytest.raises(InvalidInput, match="at least one run"):
        board_of([])
    with pytest.raises(InvalidInput, match="all 1 finished after 2020"):
        board_of([entry], freeze="2020-01-01")
    with pytest.raises(InvalidInput, match="expected one of NoC@90, AuC, got 'IoU'"):
        board_of([entry], measure="IoU")
    with pytest.raises(InvalidInput, match="expected a time like 2026-11-22"):
        board_of([entry], freeze="tomorrow")
    with pytest.raises(RunConflict, match="benchmark rounds is 4 in disc, 9 in disc"):
        board_of([entry, make_entry([1.0] * 4, rules={"rounds": 9})])


def test_a_statistic_that_nobody_has_a_value_of_is_left_out(make_entry):
    nothing = {"centre": {"NoC@90": (1.0,) * 12, "AuC": (None,) * 12}}
    board = board_of(
        [make_entry([1.0] * 12, segmenter=name, values_by_user=nothing) for name in "ab"]
    )
    assert [statistic.name for statistic in board.statistics] == ["NoC@90"]
    assert {panel["key"][-1] for panel in board_data(board)["panels"]} == {"NoC@90"}
    assert board_page(board).html()


def test_a_run_without_a_place_comes_last_and_is_tested_against_nobody(make_entry, rng):
    base = rng.integers(3, 9, 24).astype(float)
    whole = [
        make_entry(base + lift, segmenter=name, participant=name)
        for name, lift in (("a", 0.0), ("b", 1.0))
    ]
    cheat = make_entry(base - 2, segmenter="c", participant="c", unranked="2 of 12 samples")
    board, alone = board_of([*whole, cheat]), board_of(whole)
    rows = board.rows(MAIN)
    assert [(board.names[row.entry], row.place, row.first, row.last) for row in rows] == [
        ("a", 1, 1, 1),
        ("b", 2, 2, 2),
        ("c", 0, 0, 0),
    ]
    assert not board.panels[MAIN].ahead[2].any()
    assert board.panels[MAIN].ahead[:2, :2].tolist() == alone.panels[MAIN].ahead.tolist()
    assert leader_text(board, MAIN, rows).startswith("a is first in NoC@90")
    assert "no rank: 2 of 12 samples" in board_page(board).html()


@pytest.mark.parametrize("choice", ["best", "last", "chosen"])
def test_a_run_without_a_place_stands_for_its_participant_only_where_there_is_no_other(
    make_entry, choice
):
    entries = [
        make_entry([5.0] * 12, segmenter="a", name="whole", participant="ann", at="2026-01-01"),
        make_entry(
            [1.0] * 12,
            segmenter="a",
            name="part",
            participant="ann",
            at="2026-01-02",
            unranked="1 of 6",
        ),
        make_entry(
            [2.0] * 12,
            segmenter="b",
            name="alone",
            participant="ben",
            at="2026-01-03",
            unranked="1 of 6",
        ),
    ]
    board = board_of(entries)
    assert [board.names[row.entry] for row in board.rows(MAIN, choice)] == ["whole", "alone"]


def test_a_control_that_looks_at_no_image_is_a_line_to_beat_and_takes_no_place(make_entry, rng):
    base = rng.integers(3, 9, 24).astype(float)
    models = [make_entry(base + lift, segmenter=name) for name, lift in (("a", 0.0), ("b", 1.0))]
    board, alone = (
        board_of([make_entry(base - 2, segmenter="blind", ignores_image=True), *models]),
        board_of(models),
    )
    rows = board.rows(MAIN)
    assert [(board.names[row.entry], row.place, row.last) for row in rows] == [
        ("a", 1, 1),
        ("b", 2, 2),
        ("blind", 0, 0),
    ]
    assert not board.panels[MAIN].ahead[0].any()
    assert board.panels[MAIN].ahead[1:, 1:].tolist() == alone.panels[MAIN].ahead.tolist()
    assert leader_text(board, MAIN, rows) == leader_text(alone, MAIN, alone.rows(MAIN))
    assert [entry["floor"] for entry in board_data(board)["entries"]] == [True, False, False]
    assert "ignores the image, no rank: a control" in board_page(board).html()


def test_controls_among_themselves_are_ranked(make_entry):
    entries = [
        make_entry([v] * 12, segmenter=name, ignores_image=True)
        for name, v in (("blind", 3.0), ("all", 5.0))
    ]
    board = board_of(entries)
    assert [row.place for row in board.rows(MAIN)] == [1, 2]
    assert not board.floors


def test_nobody_is_first_who_is_alone(make_entry):
    board = board_of([make_entry([4.0] * 12, segmenter="a")])
    assert leader_text(board, MAIN, board.rows(MAIN)) == (
        "a: NoC@90 4.00 [4.00, 4.00]; with only 6 photographs, the interval is rough."
    )


NOF = Statistic(name="NoF@90", kind="nof", threshold=0.9, higher_is_better=False)
LAST = Statistic(name="IoU@4", kind="at_round", round=4)


@pytest.fixture
def click_entry(make_entry):
    """An entry with the same clicks and final IoU for every target, and a failure or none for each."""

    def entry(name, clicks, failed, last):
        values = {"NoC@90": [clicks] * 12, "NoF@90": failed, "IoU@4": [last] * 12}
        return make_entry(
            [clicks] * 12,
            segmenter=name,
            summary=(NOC, NOF, LAST),
            definitions=dict.fromkeys(values, "."),
            values_by_user={"centre": values},
        )

    return entry


def test_the_leader_in_clicks_that_fails_more_often_is_named_with_the_one_that_does_not(
    click_entry,
):
    rash = click_entry("rash", 2.0, [1.0] * 3 + [0.0] * 9, 0.75)
    steady = click_entry("steady", 3.0, [0.0] * 12, 0.875)
    board = board_of([rash, steady])
    assert leader_text(board, MAIN, board.rows(MAIN)) == (
        "rash is first in NoC@90 with 2.00 [2.00, 2.00] (75.0 % of targets solved, unsolved counted as 4); "
        "with only 6 photographs, the interval is rough. It is significantly ahead of steady (3.00). "
        "However, steady fails less often (0.0 % against 25.0 %) and ends higher (IoU@4 0.875 against 0.750)."
    )


def test_nobody_is_first_where_no_target_is_solved(click_entry):
    runs = [click_entry(name, 4.0, [1.0] * 12, last) for name, last in (("a", 0.5), ("b", 0.75))]
    board = board_of(runs)
    assert leader_text(board, MAIN, board.rows(MAIN)) == (
        "No run reaches IoU 0.9 within 4 clicks on any target. IoU@4 is 0.750 for b and 0.500 for a."
    )
    alone = board_of(runs[:1])
    assert leader_text(alone, MAIN, alone.rows(MAIN)) == (
        "a does not reach IoU 0.9 within 4 clicks on any target."
    )


def test_the_board_says_how_many_samples_rows_share(make_entry):
    nan = math.nan
    rows = {"a": [4.0] * 12, "b": [4.0] * 8 + [nan] * 4, "c": [nan] * 8 + [4.0] * 4}
    entries = [make_entry(values, segmenter=name) for name, values in rows.items()]
    board = board_of(entries)
    text = shared_text(board, MAIN, board.rows(MAIN))
    assert "each has 2 to 6, any two share 0 to 4, and all of them share 0." in text
    assert "are not compared" in text
    assert not board.panels[MAIN].ahead.any()
    assert shared_text(board, MAIN, board.rows(MAIN)[:1]) == ""
    alike = board_of(entries[:1] * 2)
    assert shared_text(alike, MAIN, alike.rows(MAIN)) == ""
    assert board_data(alike)["samples"] == []
    assert board_data(board)["samples"][0]["count"] == 6


def test_times_are_told_in_utc_whatever_zone_they_came_in(make_entry):
    board = board_of([make_entry([1.0, 2.0], at="2026-11-23T01:30+02:00")])
    assert board_data(board)["entries"][0]["at"] == "2026-11-22T23:30+00:00"
    assert "2026-11-22 23:30 UTC" in run_page(board, board.first_key, 0).html()


def test_a_time_before_the_first_day_is_none(make_entry):
    with pytest.raises(InvalidInput, match="expected a time like"):
        board_of([make_entry([1.0, 2.0], at="0001-01-01T00:00+02:00")])
