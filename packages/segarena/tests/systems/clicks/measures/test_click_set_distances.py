from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import wasserstein_distance_nd

from segarena.errors import InvalidInput, InvalidMask
from segarena.statistics.ks2d import ks2d
from segarena.systems.clicks.measures import click_set_distances as module
from segarena.systems.clicks.measures.click_set_distances import (
    box_size,
    compare_click_sets,
    compare_devices,
    matched_distances,
    pairwise_l1,
    wasserstein,
)

BOX = (30, 40)
DIAGONAL = 50.0


def click_sets(least=1, most=8):
    sizes = st.integers(least, most)
    return sizes.flatmap(lambda n: hnp.arrays(np.int64, (n, 2), elements=st.integers(0, 60)))


def random_clicks(count, seed, high=60):
    return np.random.default_rng(seed).integers(0, high, (count, 2))


def test_pl1_by_hand():
    # Pairs: |0-3|/30 + |0-4|/40 = .2 and |0-6|/30 + |0-0|/40 = .2; from (9, 4): .2 + 0 and .1 + .1.
    assert pairwise_l1([[0, 0], [9, 4]], [[3, 4], [6, 0]], BOX) == pytest.approx(
        (0.2 + 0.2 + 0.2 + 0.2) / 4
    )


@given(click_sets(), click_sets())
def test_pl1_equals_a_loop_over_all_pairs(first, second):
    pairs = [
        abs(r - s) / BOX[0] + abs(c - d) / BOX[1]
        for r, c in first.tolist()
        for s, d in second.tolist()
    ]
    assert pairwise_l1(first, second, BOX) == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)


def test_wd_by_hand():
    # Best moved straight across: 5 and 10 pixels, 7.5 on average.
    assert wasserstein([[0, 0], [20, 0]], [[20, 10], [3, 4]], BOX) == pytest.approx(7.5 / DIAGONAL)


def test_wd_in_box_sides_measures_rows_in_heights_and_columns_in_widths():
    assert wasserstein([[0, 0]], [[15, 0]], BOX, normalise="box_sides") == pytest.approx(0.5)
    assert wasserstein([[0, 0]], [[0, 15]], BOX, normalise="box_sides") == pytest.approx(0.375)
    assert wasserstein([[0, 0]], [[0, 15]], BOX) == pytest.approx(0.3)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (12, 12), (30, 30), (5, 8), (1, 7)])
def test_wd_equals_the_linear_program(n, m):
    first = random_clicks(n, 1)
    second = random_clicks(m, 2)
    expected = wasserstein_distance_nd(first, second)
    assert wasserstein(first, second, BOX) * DIAGONAL == pytest.approx(expected, abs=1e-9)


def test_many_sets_are_matched_one_by_one(monkeypatch):
    sets = np.stack([random_clicks(9, seed) for seed in range(5)]).astype(float)
    points = random_clicks(9, 99)
    expected = [wasserstein(own, points, BOX) * DIAGONAL for own in sets]
    assert matched_distances(sets, points.astype(float)) == pytest.approx(expected)
    monkeypatch.setattr(module, "_CHUNK_SIZE", 100)
    assert matched_distances(sets, points.astype(float)) == pytest.approx(expected)


@given(click_sets(6, 6), click_sets(6, 6))
def test_wd_is_symmetric_and_0_only_between_equal_sets(first, second):
    there = wasserstein(first, second, BOX)
    assert wasserstein(second, first, BOX) == pytest.approx(there)
    assert (there == 0) == (sorted(map(tuple, first)) == sorted(map(tuple, second)))


@given(click_sets(), st.integers(-30, 30), st.integers(-30, 30))
def test_wd_of_a_moved_set_is_how_far_it_was_moved(clicks, rows, columns):
    assert wasserstein(clicks, clicks + np.array([rows, columns]), BOX) == pytest.approx(
        math.hypot(rows, columns) / DIAGONAL
    )


@given(click_sets(), click_sets(), st.integers(-30, 30), st.integers(-30, 30))
def test_moving_both_sets_changes_nothing(first, second, rows, columns):
    step = np.array([rows, columns])
    moved = pairwise_l1(first + step, second + step, BOX)
    assert moved == pytest.approx(pairwise_l1(first, second, BOX), abs=1e-12)


def test_the_comparison_holds_all_three():
    first = random_clicks(25, 3)
    second = random_clicks(24, 4)
    compared = compare_click_sets(first, second, BOX)
    assert compared.pl1 == pairwise_l1(first, second, BOX)
    assert compared.wd == wasserstein(first, second, BOX)
    assert compared.p_value == ks2d(first, second).p_values[0]
    assert compared.ks == 1.0
    assert compared.clicks == (25, 24)


def test_clicks_elsewhere_are_told_apart():
    assert compare_click_sets(random_clicks(25, 3), random_clicks(25, 4) + 40, BOX).ks == 0.0


def test_without_a_p_value_the_sets_do_not_pass_for_the_same():
    in_a_row = np.array([[5, 1], [5, 2], [5, 9]])
    compared = compare_click_sets(in_a_row, in_a_row, BOX)
    assert math.isnan(compared.p_value)
    assert (compared.ks, compared.wd) == (0.0, 0.0)


def test_devices_need_ten_clicks_of_each():
    ten = random_clicks(10, 5)
    nine = random_clicks(9, 6)
    assert compare_devices(ten, nine, BOX) is None
    assert compare_devices(nine, ten, BOX) is None
    assert compare_devices(ten, [], BOX, least_clicks=0) is None
    assert compare_devices(ten, nine, BOX, least_clicks=9) == compare_click_sets(ten, nine, BOX)
    assert compare_devices(ten, ten, BOX) == compare_click_sets(ten, ten, BOX)
    assert compare_devices(ten, ten, BOX, least_clicks=11) is None


def test_published_devices_take_the_column_of_pc_clicks_twice():
    pc = random_clicks(12, 7)
    mobile = random_clicks(15, 8)
    right = compare_devices(pc, mobile, BOX)
    published = compare_devices(pc, mobile, BOX, protocol="published")
    wrong = compare_click_sets(np.stack([pc[:, 1], pc[:, 1]], axis=1), mobile, BOX)
    assert (published.pl1, published.wd) == (wrong.pl1, wrong.wd)
    assert (published.ks, published.p_value) == (right.ks, right.p_value)
    assert published.pl1 != right.pl1


def test_the_box_includes_both_ends():
    mask = np.zeros((20, 20), dtype=bool)
    mask[3, 4] = mask[7, 14] = True
    assert box_size(mask) == (5, 11)


def test_a_target_without_pixels_has_no_box():
    with pytest.raises(InvalidMask):
        box_size(np.zeros((4, 4), dtype=bool))
    with pytest.raises(InvalidMask):
        box_size(np.ones((2, 4, 4), dtype=bool))


@pytest.mark.parametrize("clicks", [[], [[1, 2, 3]], [1, 2], [[1, math.nan]]])
def test_what_are_not_clicks_is_refused(clicks):
    for function in (pairwise_l1, wasserstein, compare_click_sets):
        with pytest.raises(InvalidInput):
            function(clicks, [[1, 2]], BOX)


def test_unknown_words_and_empty_boxes_are_refused():
    with pytest.raises(InvalidInput, match="normalise"):
        wasserstein([[1, 2]], [[1, 2]], BOX, normalise="diagonal")
    with pytest.raises(InvalidInput, match="box"):
        pairwise_l1([[1, 2]], [[1, 2]], (0, 5))
