"""Kinds of statistics: lookup by name, number format and sentence."""

import numpy as np
import pytest

from segarena import Statistic
from segarena.errors import UnknownPlugin
from segarena.statistics.round_statistics import define_statistic, find_statistic, statistic_values

VALUES = np.array(
    [
        [0.5, 0.9, 0.7, 0.95],  # solved at 2, although it drops again
        [0.1, 0.2, 0.3, 0.9],  # solved exactly at the last
        [0.1, 0.2, 0.3, 0.4],  # never
        [0.9, 0.9, 0.9, 0.9],
    ]
)


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        (Statistic(name="NoC@90", kind="noc", threshold=0.9), [2, 4, 4, 1]),
        (Statistic(name="NoF@90", kind="nof", threshold=0.9), [0, 0, 1, 0]),
        (Statistic(name="IoU@2", kind="at_round", round=2), [0.9, 0.2, 0.2, 0.9]),
        (Statistic(name="solved by 2", kind="solved", threshold=0.9, round=2), [1, 0, 0, 1]),
        (
            Statistic(name="clicks to 3", kind="restricted_noc", threshold=0.9, round=3),
            [2, 3, 3, 1],
        ),
        (Statistic(name="AUC", kind="auc_all"), [2.325, 1.0, 0.75, 2.7]),
        (Statistic(name="AuC", kind="auc"), [2.325 / 3, 1.0 / 3, 0.75 / 3, 2.7 / 3]),
    ],
)
def test_statistics_are_found_by_kind(statistic, expected):
    assert statistic_values(statistic, VALUES).tolist() == expected


def test_the_published_failures_are_an_option_of_the_dispatch():
    nof = Statistic(name="NoF@90", kind="nof", threshold=0.9)
    assert statistic_values(nof, VALUES, {"solved_at_last": "failure"}).tolist() == [0, 1, 1, 0]


def test_an_unknown_kind_is_refused():
    with pytest.raises(UnknownPlugin, match="no statistic is called 'median'"):
        statistic_values(Statistic(name="M", kind="median"), VALUES)


@pytest.mark.parametrize(
    ("kind", "value", "printed"),
    [
        ("noc", 2.345, "2.35"),
        ("nof", 0.1234, "12.3 %"),
        ("auc", 0.12345, "0.123"),
        ("noc", float("nan"), "–"),
    ],
)
def test_each_kind_prints_its_numbers(kind, value, printed):
    assert find_statistic(kind).text(value) == printed


def test_definitions_name_metric_threshold_and_direction():
    noc = Statistic(name="NoC@90", kind="noc", threshold=0.9, higher_is_better=False)
    told = (
        "NoC@90: number of rounds until Dice is at least 0.9; 20 when it never is. Lower is better."
    )
    assert define_statistic(noc, "Dice", 20, {}) == told
    last = Statistic(name="AUC", kind="auc_last_five", metric="dice")
    assert define_statistic(last, "Dice", 6, {}).endswith(
        "over the last five rounds, at most 4. Higher is better."
    )


@pytest.mark.parametrize(
    ("kind", "needed"), [("at_round", 7), ("auc_last_five", 5), ("auc", 1), ("noc", 1)]
)
def test_kinds_say_how_many_rounds_they_need(kind, needed):
    assert find_statistic(kind).needs_rounds(Statistic(name="S", kind=kind, round=7)) == needed


def solved_at(clicks, rounds):
    """Return dialogues that reach 1 at these clicks; those with 0 never do."""
    curves = np.zeros((len(clicks), rounds))
    for curve, click in zip(curves, clicks, strict=True):
        if click:
            curve[click - 1 :] = 1
    return curves


@pytest.mark.parametrize("limit", [1, 3, 6])
def test_the_restricted_mean_of_geometric_clicks_has_its_closed_form(limit):
    """Half of the unsolved dialogues are solved at each click: sum over k < L of 2 ** -k is 2 - 2 ** (1 - L)."""
    clicks = [1] * 32 + [2] * 16 + [3] * 8 + [4] * 4 + [5] * 2 + [6] + [0]
    curves = solved_at(clicks, 6)
    mean = Statistic(name="", kind="restricted_noc", threshold=0.9, round=limit)
    assert statistic_values(mean, curves).mean() == 2 - 2.0 ** (1 - limit)


def test_the_restricted_mean_is_the_area_under_the_unsolved_curve(rng):
    curves = solved_at(rng.integers(0, 11, 200).tolist(), 10)
    area = 1.0  # nothing is solved before the first click
    for click in range(1, 10):
        solved = Statistic(name="", kind="solved", threshold=0.9, round=click)
        area += 1 - statistic_values(solved, curves).mean()
    mean = Statistic(name="", kind="restricted_noc", threshold=0.9, round=10)
    noc = Statistic(name="", kind="noc", threshold=0.9)
    assert statistic_values(mean, curves).mean() == pytest.approx(area)
    assert statistic_values(noc, curves).mean() == pytest.approx(area)


@pytest.mark.parametrize("kind", ["auc_all", "auc_last_five"])
def test_sums_name_what_they_can_reach(kind):
    level = find_statistic(kind).level
    filled = level.format(name="DSC AUC", value="3.330", metric="DSC", word="round", steps="4")
    assert filled == "has DSC AUC 3.330 of at most 4"
