from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from segarena.errors import InvalidInput
from segarena.statistics.round_curves import (
    area_over_all,
    area_over_last_five,
    area_under_curve,
    at_round,
    hold_last,
    number_of_clicks,
    number_of_failures,
)

curves = hnp.arrays(
    np.float64,
    st.tuples(st.integers(0, 6), st.integers(1, 8)),
    elements=st.sampled_from([0.0, 0.25, 0.5, 0.9, 0.95, 1.0]),
)

VALUES = np.array(
    [
        [0.5, 0.9, 0.7, 0.95],  # solved at 2, although it drops again
        [0.1, 0.2, 0.3, 0.9],  # solved exactly at the last
        [0.1, 0.2, 0.3, 0.4],  # never
        [0.9, 0.9, 0.9, 0.9],
    ]
)


def test_noc_is_the_first_round_at_the_threshold_or_the_limit():
    assert number_of_clicks(VALUES, 0.9).tolist() == [2, 4, 4, 1]
    assert number_of_clicks(VALUES, 0.9, limit=3).tolist() == [2, 3, 3, 1]


def test_nof_says_what_becomes_of_a_dialogue_solved_in_the_last_round():
    assert number_of_failures(VALUES, 0.9).tolist() == [0, 0, 1, 0]
    assert number_of_failures(VALUES, 0.9, solved_at_last="failure").tolist() == [0, 1, 1, 0]
    assert number_of_failures(VALUES, 0.9, limit=2).tolist() == [0, 1, 1, 0]
    assert number_of_failures(VALUES, 0.9, limit=2, solved_at_last="failure").tolist() == [
        1,
        1,
        1,
        0,
    ]


@given(curves)
def test_published_nof_counts_the_dialogues_whose_noc_is_the_limit(values):
    noc = number_of_clicks(values, 0.9)
    published = number_of_failures(values, 0.9, solved_at_last="failure")
    assert np.array_equal(published, noc == values.shape[1])


@pytest.mark.long
@given(curves, st.sampled_from([0.25, 0.9, 1.0]))
def test_noc_and_nof_equal_a_loop_over_rounds(values, threshold):
    for row, noc, nof in zip(
        values,
        number_of_clicks(values, threshold),
        number_of_failures(values, threshold),
        strict=True,
    ):
        reached = [k for k, value in enumerate(row, start=1) if value >= threshold]
        assert noc == (reached[0] if reached else len(row))
        assert nof == (not reached)


def test_auc_of_a_straight_line_is_its_middle():
    assert area_under_curve([[0.0, 0.25, 0.5, 0.75, 1.0]]).tolist() == [0.5]


def test_auc_weighs_the_first_and_last_round_half():
    assert area_under_curve(VALUES)[0] == pytest.approx((0.25 + 0.9 + 0.7 + 0.475) / 3)


@given(curves.filter(lambda values: values.shape[1] > 1))
def test_auc_equals_a_sum_of_trapezoids(values):
    expected = [
        sum((a + b) / 2 for a, b in pairwise(row)) / (len(row) - 1) for row in values.tolist()
    ]
    assert area_under_curve(values) == pytest.approx(expected)


def test_auc_of_one_round_is_its_value():
    assert area_under_curve([[0.3], [0.8]]).tolist() == [0.3, 0.8]


def test_areas_of_challenges_are_sums_of_trapezoids():
    steps = np.array([[0.9, 0.2, 0.4, 0.6, 0.8, 1.0]])  # a box, then five clicks
    assert np.allclose(area_over_last_five(steps), [0.3 + 0.5 + 0.7 + 0.9])
    assert np.allclose(area_over_all(steps), [0.55 + 0.3 + 0.5 + 0.7 + 0.9])
    assert area_over_last_five(np.ones((1, 9))).tolist() == [4.0]
    assert area_over_all(np.ones((1, 11))).tolist() == [10.0]
    assert area_over_all(np.ones((2, 1))).tolist() == [0.0, 0.0]
    with pytest.raises(InvalidInput, match="expected at least five, got 4"):
        area_over_last_five(VALUES)


@given(curves)
def test_sum_of_trapezoids_is_the_mean_times_the_steps(values):
    assert np.allclose(area_over_all(values), (values[:, 1:] + values[:, :-1]).sum(axis=1) / 2)


def test_at_round_counts_from_one():
    assert at_round(VALUES, 1).tolist() == [0.5, 0.1, 0.1, 0.9]
    assert at_round(VALUES, 4).tolist() == [0.95, 0.9, 0.4, 0.9]


@pytest.mark.parametrize("k", [0, -1, 5])
def test_a_round_that_was_not_played_is_refused(k):
    with pytest.raises(InvalidInput, match=r"expected 1\.\.4"):
        at_round(VALUES, k)
    with pytest.raises(InvalidInput, match=r"expected 1\.\.4"):
        number_of_clicks(VALUES, 0.9, limit=k)


def test_hold_last_repeats_the_last_value_and_cuts_what_is_too_long():
    held = hold_last([[0.5, 0.9], [0.1, 0.2, 0.3, 0.4], [0.7]], 3)
    assert held.tolist() == [[0.5, 0.9, 0.9], [0.1, 0.2, 0.3], [0.7, 0.7, 0.7]]


def test_no_dialogues_give_no_values():
    none = hold_last([], 20)
    assert none.shape == (0, 20)
    for values in (
        number_of_clicks(none, 0.9),
        number_of_failures(none, 0.9),
        area_under_curve(none),
    ):
        assert values.shape == (0,)


@pytest.mark.parametrize(("values", "rounds"), [([[]], 3), ([[[0.5]]], 3), ([[0.5]], 0)])
def test_hold_last_refuses_dialogues_without_rounds(values, rounds):
    with pytest.raises(InvalidInput):
        hold_last(values, rounds)


@pytest.mark.parametrize("values", [[0.5, 0.6], [[]], [[np.nan, 0.5]], 0.5])
def test_what_is_not_a_table_of_numbers_is_refused(values):
    for function in (
        lambda v: number_of_clicks(v, 0.9),
        area_under_curve,
        lambda v: at_round(v, 1),
    ):
        with pytest.raises(InvalidInput):
            function(values)


def test_an_unknown_word_for_solved_at_last_is_refused():
    with pytest.raises(InvalidInput, match="solved_at_last"):
        number_of_failures(VALUES, 0.9, solved_at_last="maybe")
