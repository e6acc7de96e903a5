import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from segarena.errors import InvalidInput, InvalidMask
from segarena.systems.scenes.edges.bipartite_matching import best_matching
from segarena.systems.scenes.edges.edge_matching import Candidates, match_edges, match_radius_px


def distances(first, second):
    return np.hypot(*(np.argwhere(first)[:, None] - np.argwhere(second)[None]).transpose(2, 0, 1))


def best_by_dense_assignment(first, second, radius_px):
    """Return pairs and cost of the best dense matching; leaving a pixel unmatched costs more than any pair."""
    apart = distances(first, second)
    costs = np.rint(100 * apart)
    n, m = apart.shape
    table = np.zeros((n + m, n + m))
    table[:n, :m] = np.where(apart <= radius_px, costs, 1e9)
    table[:n, m:], table[n:, :m] = 1e6, 1e6
    rows, columns = linear_sum_assignment(table)
    real = (rows < n) & (columns < m)
    return int(real.sum()), float(costs[rows[real], columns[real]].sum())


def most_pairs(first, second, radius_px):
    graph = csr_array(distances(first, second) <= radius_px)
    return int((maximum_bipartite_matching(graph) >= 0).sum())


def count_and_cost(match, shape):
    apart = np.hypot(
        *np.subtract(
            np.unravel_index(match.prediction, shape), np.unravel_index(match.target, shape)
        )
    )
    return len(match), float(np.rint(100 * apart).sum()), apart


MAPS = st.tuples(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.05, 0.2, 0.6, 1.0]),
    st.sampled_from([0.05, 0.3, 1.0]),
)


@given(MAPS, st.sampled_from([0.0, 1.0, 1.5, 2.3, 4.337]))
def test_the_matching_is_the_largest_and_of_those_the_cheapest(maps, radius_px):
    seed, share, other = maps
    rng = np.random.default_rng(seed)
    first, second = rng.random((9, 11)) < share, rng.random((9, 11)) < other
    match = match_edges(first, second, radius_px=radius_px)
    count, cost, apart = count_and_cost(match, first.shape)
    assert (count, cost) == best_by_dense_assignment(first, second, radius_px)
    assert (apart <= radius_px).all()
    assert len(set(match.prediction)) == len(set(match.target)) == count
    assert first.ravel()[match.prediction].all()
    assert second.ravel()[match.target].all()


@pytest.mark.parametrize("seed", range(4))
def test_the_number_of_pairs_is_that_of_hopcroft_and_karp(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.random((40, 60)) < 0.1, rng.random((40, 60)) < (0.05, 0.1, 0.2, 0.4)[seed]
    expected = most_pairs(first, second, 2.3)
    assert len(match_edges(first, second, radius_px=2.3)) == expected
    assert len(match_edges(second, first, radius_px=2.3)) == expected


def test_long_parallel_lines_and_full_maps_are_matched():
    lines, shifted = np.zeros((60, 80), bool), np.zeros((60, 80), bool)
    lines[::4], shifted[2::5] = True, True
    assert len(match_edges(lines, shifted, radius_px=4.3)) == shifted.sum()
    full = np.ones((40, 40), bool)
    match = match_edges(full, full, radius_px=4.3)
    np.testing.assert_array_equal(match.prediction, match.target)
    assert len(match) == 1600


def test_more_pairs_come_before_shorter_ones():
    first, second = np.zeros((1, 8), bool), np.zeros((1, 8), bool)
    first[0, [2, 3]], second[0, [3, 6]] = True, True
    # Alone, 3 and 3 would be nearest; but only 3 reaches 6.
    match = match_edges(first, second, radius_px=3.0)
    assert match.prediction.tolist() == [2, 3]
    assert match.target.tolist() == [3, 6]


def test_a_pixel_just_beyond_the_radius_is_not_matched():
    first, second = np.zeros((5, 5), bool), np.zeros((5, 5), bool)
    first[0, 0], second[3, 4] = True, True
    assert len(match_edges(first, second, radius_px=5.0)) == 1
    assert len(match_edges(first, second, radius_px=4.999)) == 0


def test_edges_do_not_reach_around_the_border():
    first, second = np.zeros((4, 6), bool), np.zeros((4, 6), bool)
    first[1, 5], second[2, 0] = True, True
    assert len(match_edges(first, second, radius_px=2.0)) == 0


def test_maps_without_edges_have_no_pairs():
    nothing, everything = np.zeros((4, 5), bool), np.ones((4, 5), bool)
    assert len(match_edges(nothing, everything, radius_px=2)) == 0
    assert len(match_edges(everything, nothing, radius_px=2)) == 0
    assert len(match_edges(np.zeros((0, 3), bool), np.zeros((0, 3), bool), radius_px=2)) == 0


def test_parts_of_a_map_are_matched_as_maps_of_their_own():
    rng = np.random.default_rng(3)
    whole, target = rng.random((30, 30)) < 0.2, rng.random((30, 30)) < 0.15
    candidates = Candidates(whole, target, radius_px=3.0)
    for share in (0.0, 0.3, 0.7, 1.0):
        part = whole & (rng.random(whole.shape) < share)
        mine, alone = candidates.match(part), match_edges(part, target, radius_px=3.0)
        np.testing.assert_array_equal(mine.prediction, alone.prediction)
        np.testing.assert_array_equal(mine.target, alone.target)
    with pytest.raises(InvalidMask, match="outside"):
        candidates.match(~whole)


def test_candidates_found_in_pieces_are_the_same(monkeypatch):
    rng = np.random.default_rng(4)
    first, second = rng.random((30, 30)) < 0.2, rng.random((30, 30)) < 0.2
    expected = match_edges(first, second, radius_px=3.0)
    monkeypatch.setattr("segarena.systems.scenes.edges.edge_matching._AT_ONCE", 100)
    np.testing.assert_array_equal(match_edges(first, second, radius_px=3.0).target, expected.target)


def test_the_radius_of_the_benchmark():
    assert match_radius_px((321, 481)) == pytest.approx(4.337, abs=5e-4)


def test_what_cannot_be_matched_is_said():
    with pytest.raises(InvalidMask, match="same shape"):
        match_edges(np.ones((3, 4), bool), np.ones((4, 3), bool), radius_px=1)
    for radius_px in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidInput, match="radius_px"):
            match_edges(np.ones((3, 4), bool), np.ones((3, 4), bool), radius_px=radius_px)


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 9))
def test_sparse_graphs_of_any_form_are_matched_best(seed, rows, columns):
    rng = np.random.default_rng(seed)
    costs = rng.integers(1, 6, (rows, columns)) * (rng.random((rows, columns)) < 0.4)
    costs = costs[costs.any(axis=1)][:, costs.any(axis=0)]
    if not costs.size:
        return
    n, m = costs.shape
    first, second = best_matching(csr_array(costs.astype(float)))
    table = np.full((n + m, n + m), 1000.0)
    table[:n, :m], table[n:, m:] = np.where(costs, costs, 1e6), 0
    expected = linear_sum_assignment(table)
    real = (expected[0] < n) & (expected[1] < m)
    assert len(first) == real.sum()
    assert costs[first, second].all()
    assert costs[first, second].sum() == table[expected][real].sum()
