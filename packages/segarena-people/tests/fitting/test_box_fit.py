from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from segarena.errors import InvalidInput
from segarena.users.habits.box_habits import copula_shares
from segarena_people.fitting.box_fit import PersonBoxes, box_iou, fit_boxes


def people_s(
    count=1200,
    *,
    spread=0.05,
    freedom=2.0,
    people=6,
    between=0.0,
    seed=0,
    correlation=None,
    tail=6.0,
):
    """Boxes of people with t-distributed relative offsets, which are larger for some people than for others."""
    rng = np.random.default_rng(seed)
    sides = np.exp(rng.uniform(np.log(10), np.log(300), (count, 2)))
    table = np.eye(4) if correlation is None else correlation
    offsets = spread * stats.t(freedom).ppf(copula_shares(count, table, tail, rng))
    who = np.arange(count) % people
    factors = np.exp(between * stats.norm.ppf((np.arange(people) + 0.5) / people))
    offsets *= factors[who][:, None]
    return PersonBoxes(sides, offsets * sides[:, [0, 1, 0, 1]], [f"p{k}" for k in who])


def test_quantiles_are_those_that_the_boxes_were_drawn_with():
    habits = fit_boxes(people_s(6000), "made here")
    at = np.array([0.05, 0.25, 0.75, 0.95])
    for side in (15.0, 60.0, 200.0):
        found = habits.offsets(np.full(len(at), side), at, 0)
        assert found == pytest.approx(0.05 * stats.t(2.0).ppf(at), rel=0.25, abs=0.005)


def test_boxes_of_the_fitted_habits_cannot_be_told_from_others_of_the_same_people():
    given = people_s(1500, seed=1)
    others = people_s(300, seed=2)
    drawn = fit_boxes(given, "made here").offsets_px(others.sides_px, np.random.default_rng(3))
    drawn /= others.sides_of_edges
    for edge in range(4):
        assert stats.ks_2samp(drawn[:, edge], others.offsets[:, edge]).pvalue > 0.05
    far = [np.quantile(np.abs(each), 0.97) for each in (drawn, others.offsets)]
    assert far[0] == pytest.approx(far[1], rel=0.3)


def test_edges_that_hang_together_do_so_in_the_fit():
    correlation = np.full((4, 4), 0.5) + 0.5 * np.eye(4)
    habits = fit_boxes(people_s(4000, correlation=correlation), "made here")
    assert np.array(habits.correlation)[0, 1:] == pytest.approx([0.5, 0.5, 0.5], abs=0.06)


def test_the_tail_tells_whether_edges_are_far_off_together():
    alone = fit_boxes(people_s(4000, tail=200.0), "made here")
    together = fit_boxes(people_s(4000, tail=2.0), "made here")
    assert together.tail <= 3.0 < 20.0 <= alone.tail


def test_what_lies_between_people_is_told_from_chance():
    assert fit_boxes(people_s(3000, freedom=30.0, tail=100.0), "made here").between_people < 0.06
    found = fit_boxes(people_s(3000, freedom=30.0, tail=100.0, people=20, between=0.4), "made here")
    assert found.between_people == pytest.approx(0.4, rel=0.2)


def test_nothing_is_said_of_people_who_are_not_known():
    given = people_s(100, between=0.5)
    assert (
        fit_boxes(
            PersonBoxes(given.sides_px, given.offsets_px, [""] * 100), "made here"
        ).between_people
        == 0.0
    )


def test_twenty_boxes_are_enough_for_one_size_class():
    habits = fit_boxes(people_s(20), "made here")
    assert len(habits.sizes) == 1
    assert habits.sizes[0].edges == 80


def test_the_same_boxes_give_the_same_habits():
    assert fit_boxes(people_s(300), "x") == fit_boxes(people_s(300), "x")


def test_exact_boxes_fit_exact_habits():
    exact = PersonBoxes(np.full((12, 2), 30.0), np.zeros((12, 4)), ["a", "b"] * 6)
    assert not fit_boxes(exact, "x").offsets_px([(30, 30)], np.random.default_rng(0)).any()


def test_too_few_boxes_are_refused():
    with pytest.raises(InvalidInput, match="at least 10"):
        fit_boxes(people_s(9), "x")


def test_offsets_that_are_no_numbers_are_refused():
    with pytest.raises(InvalidInput, match="finite"):
        fit_boxes(PersonBoxes(np.ones((12, 2)), np.full((12, 4), np.nan), [""] * 12), "x")


def test_iou_of_boxes_is_that_of_their_pixels():
    rng = np.random.default_rng(0)
    for _ in range(50):
        height, width = rng.integers(5, 12, 2)
        edges = rng.integers(-3, 5, 4)
        inner, outer = np.zeros((2, 40, 40), dtype=bool)
        inner[15 : 15 + height, 15 : 15 + width] = True
        top, left, bottom, right = edges
        outer[15 - top : 15 + height + bottom, 15 - left : 15 + width + right] = True
        expected = (inner & outer).sum() / (inner | outer).sum()
        assert box_iou([edges / [height, width, height, width]])[0] == pytest.approx(expected)
