import math
from itertools import combinations, product

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.statistics import pairwise_tests
from segarena.statistics.intervals import paired_difference
from segarena.statistics.pairwise_tests import compare_all_pairs, rank_ranges


def slow(values, clusters):
    """Step by step: count how often the largest statistic of all remaining pairs reaches the largest observed one."""
    names = sorted(set(clusters))
    pairs = list(combinations(range(len(values)), 2))

    def statistic(pair, signs):
        levels = []
        for name, sign in zip(names, signs, strict=True):
            own = [
                a - b
                for a, b, c in zip(values[pair[0]], values[pair[1]], clusters, strict=True)
                if c == name
            ]
            own = [d for d in own if not math.isnan(d)]
            levels += [sign * math.fsum(own) / len(own)] if own else []
        length = math.sqrt(math.fsum(level * level for level in levels))
        return abs(math.fsum(levels)) / length if length else 0.0

    every = list(product([1, -1], repeat=len(names)))
    seen = {pair: statistic(pair, every[0]) for pair in pairs}
    standing, found, least = sorted(pairs, key=lambda pair: -seen[pair]), {}, 0.0
    while standing:
        first = standing[0]
        reached = [
            max(statistic(pair, signs) for pair in standing) >= seen[first] - 1e-9
            for signs in every
        ]
        least = max(least, sum(reached) / len(every))
        found[first] = least if seen[first] else 1.0
        standing.pop(0)
    return found


@pytest.mark.parametrize("missing", [0, 5])
def test_p_values_agree_with_going_step_by_step(rng, missing):
    values = rng.normal(size=(4, 9)) + np.array([0.0, 0.1, 2.0, 2.5])[:, None]
    values.ravel()[rng.choice(values.size, missing, replace=False)] = np.nan
    clusters = [0, 0, 1, 2, 3, 4, 5, 6, 7]
    found = compare_all_pairs(values, clusters)
    for (one, other), expected in slow(values.tolist(), clusters).items():
        assert found.p_values[one, other] == found.p_values[other, one] == pytest.approx(expected)
        own = (values[one] - values[other])[:2]
        levels = [
            np.nan if np.isnan(own).all() else np.nanmean(own),
            *(values[one] - values[other])[2:],
        ]
        assert found.differences[one, other] == pytest.approx(np.nanmean(levels))


def test_whole_numbers_that_tie_agree_too(rng):
    values = rng.integers(1, 4, size=(5, 7)).astype(float)
    found = compare_all_pairs(values)
    for (one, other), expected in slow(values.tolist(), list(range(7))).items():
        assert found.p_values[one, other] == pytest.approx(expected)


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0])
def test_chunks_do_not_change_p_values(rng, monkeypatch, spread):
    values = rng.normal(size=(40, 20)) + spread * rng.normal(size=(40, 1))
    in_one_chunk = compare_all_pairs(values).p_values
    count_hits = pairwise_tests._count_hits
    counted = []

    def count_and_note(statistics, *further):
        counted.append(len(statistics))
        return count_hits(statistics, *further)

    monkeypatch.setattr(pairwise_tests, "_count_hits", count_and_note)
    monkeypatch.setattr(pairwise_tests, "_MAX_CELLS", 10 * 2000)
    assert (compare_all_pairs(values).p_values == in_one_chunk).all()
    # Of 780 pairs, neither the least nor the most distinct need a count for each pair.
    assert max(counted) == 10
    assert sum(counted) < 500


@pytest.mark.parametrize("count", [8, 30])
def test_one_pair_has_the_p_value_of_the_paired_test(rng, count):
    one, other = rng.normal(size=count) + 0.4, rng.normal(size=count)
    assert compare_all_pairs([one, other]).p_values[0, 1] == pytest.approx(
        paired_difference(one, other).p_value
    )


@pytest.mark.long
def test_of_equal_segmenters_seldom_any_are_told_apart(rng):
    """Among 20 equal segmenters (190 pairs), chance causes a difference in about one of twenty comparisons."""
    named = sum(
        compare_all_pairs(rng.normal(size=(20, 30)), repeats=400, seed=k).p_values.min() <= 0.05
        for k in range(200)
    )
    assert 1 <= named <= 20


def test_many_segmenters_can_still_be_told_apart(rng):
    """A correction of single p-values, of which the smallest is 1 / 2001, could not detect any of 1225 pairs."""
    values = rng.normal(size=(50, 60)) * 0.3
    values[0] += 1.0
    first, last = rank_ranges(compare_all_pairs(values).ahead())
    assert (first[0], last[0]) == (1, 1)
    assert set(first[1:]) == {2}
    assert set(last[1:]) == {50}


def test_fewer_than_six_clusters_tell_nothing_apart():
    values = [np.zeros(5), np.ones(5)]
    assert compare_all_pairs(values).p_values[0, 1] == 2 / 2**5
    assert not compare_all_pairs(values).ahead().any()


def test_less_is_better_where_it_is_said():
    found = compare_all_pairs([np.full(8, 2.0) + np.arange(8) / 10, np.arange(8) / 10])
    assert found.ahead().tolist() == [[False, True], [False, False]]
    assert found.ahead(higher_is_better=False).tolist() == [[False, False], [True, False]]


def test_who_shares_no_target_is_not_compared():
    found = compare_all_pairs([[1.0, 2.0, np.nan], [np.nan, np.nan, 5.0], [1.0, 2.0, 5.0]])
    assert math.isnan(found.differences[0, 1])
    assert found.p_values[0, 1] == 1.0
    assert found.differences[0, 2] == 0.0


@pytest.mark.parametrize("values", [np.empty((0, 0)), np.empty((1, 3)) * 0, np.empty((3, 0))])
def test_nobody_to_compare_with_is_no_error(values):
    assert (compare_all_pairs(values).p_values == 1).all()


@pytest.mark.parametrize(
    ("values", "clusters"), [([1.0], None), ([[1.0, np.inf]], None), ([[1.0, 2.0]], [0])]
)
def test_what_is_no_table_is_refused(values, clusters):
    with pytest.raises(InvalidInput):
        compare_all_pairs(values, clusters)
