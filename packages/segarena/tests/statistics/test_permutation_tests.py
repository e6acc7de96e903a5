"""Energy distance and maximum mean discrepancy, compared with closed forms, loops and the distribution of p-values."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import kstest, norm

from segarena.errors import InvalidInput
from segarena.statistics import permutation_tests
from segarena.statistics.permutation_tests import (
    energy_test,
    gaussian_kernel,
    mmd_test,
    permutation_test,
)

RNG = np.random.default_rng


def samples():
    def of(k):
        return hnp.arrays(
            np.float64,
            st.tuples(st.integers(1, 6), st.just(k)),
            elements=st.integers(-4, 4).map(float),
        )

    return st.integers(1, 3).flatmap(lambda k: st.tuples(of(k), of(k)))


def slow_mean(one, two, alike):
    return sum(alike(a, b) for a, b in product(one, two)) / (len(one) * len(two))


def slow(one, two, alike):
    return slow_mean(one, one, alike) + slow_mean(two, two, alike) - 2 * slow_mean(one, two, alike)


@given(samples())
def test_energy_equals_loops_over_pairs(both):
    first, second = both
    expected = slow(first, second, lambda a, b: -math.dist(a, b))
    assert energy_test(first, second, permutations=1).statistic == pytest.approx(expected, abs=1e-9)


@given(samples())
def test_mmd_equals_loops_over_pairs(both):
    first, second = both
    values = np.concatenate(both)
    apart = sorted(math.dist(values[a], values[b]) for a in range(len(values)) for b in range(a))
    middle = float(np.median(apart)) if any(apart) else 1.0
    if not middle:
        middle = float(np.mean([distance for distance in apart if distance]))
    expected = slow(first, second, lambda a, b: math.exp(-((math.dist(a, b) / middle) ** 2) / 2))
    assert mmd_test(first, second, permutations=1).statistic == pytest.approx(expected, abs=1e-9)


def test_energy_distance_of_two_normal_distributions():
    shift, n = 1.5, 1500
    # Of Z normal with mean m and standard deviation s: E|Z| = s sqrt(2 / pi) exp(-m^2 / 2 s^2) + m (1 - 2 Phi(-m / s)).
    s = math.sqrt(2)
    between = 2 / math.sqrt(math.pi) * math.exp(-(shift**2) / 4) + shift * (
        1 - 2 * norm.cdf(-shift / s)
    )
    expected = 2 * between - 4 / math.sqrt(math.pi)
    quantiles = norm.ppf((np.arange(n) + 0.5) / n)[:, None]
    assert energy_test(quantiles, quantiles + shift, permutations=1).statistic == pytest.approx(
        expected, rel=0.01
    )


def test_mmd_of_two_normal_distributions():
    shift, n, width = 1.5, 1000, 1.2
    wide = width**2 + 2
    expected = 2 * width / math.sqrt(wide) * (1 - math.exp(-(shift**2) / (2 * wide)))
    quantiles = norm.ppf((np.arange(n) + 0.5) / n)
    values = np.concatenate([quantiles, quantiles + shift])
    kernel = np.exp(-np.square(values[:, None] - values) / (2 * width**2))
    assert permutation_test(kernel, (n, n), permutations=1).statistic == pytest.approx(
        expected, rel=0.01
    )


@pytest.mark.parametrize("test", [energy_test, mmd_test])
def test_identical_samples_are_no_distance_apart(test):
    sample = RNG(1).normal(size=(9, 2))
    assert (found := test(sample, sample)).statistic == pytest.approx(0, abs=1e-12)
    assert found.p_value == 1
    assert found.sizes == (9, 9)


@pytest.mark.parametrize("test", [energy_test, mmd_test])
@pytest.mark.parametrize("is_paired", [False, True])
def test_p_values_are_uniform_where_there_is_no_difference(test, is_paired):
    found = []
    for seed in range(250):
        rng = RNG(seed)
        ids = np.arange(10)
        level = rng.normal(0, 1, (10, 1)) if is_paired else 0
        first, second = level + rng.normal(size=(2, 10, 1))
        pairs = (ids, ids) if is_paired else None
        p = test(first, second, pairs=pairs, permutations=49, seed=seed).p_value
        found.append(
            p - rng.random() / 50
        )  # they are multiples of 1/50: spread evenly over the step below
    assert kstest(found, "uniform").pvalue > 0.01


@pytest.mark.parametrize("test", [energy_test, mmd_test])
def test_what_differs_is_found(test):
    rng = RNG(2)
    first, second = rng.normal(size=(40, 3)), rng.normal(0.8, size=(40, 3))
    assert test(first, second).p_value < 0.01
    spread = rng.normal(0, 3, (40, 3))
    assert test(first, spread).p_value < 0.01


def test_the_samples_as_they_are_count_among_the_permutations():
    far = np.arange(20.0)[:, None]
    assert energy_test(far, far + 100, permutations=49).p_value == 1 / 50


def test_pairs_find_what_differences_between_goals_hide():
    rng = RNG(3)
    level, ids = rng.normal(0, 5, (60, 1)), np.arange(60)
    first, second = level + rng.normal(size=(60, 1)), level + rng.normal(0.8, size=(60, 1))
    assert energy_test(first, second).p_value > 0.2
    assert energy_test(first, second, pairs=(ids, ids)).p_value < 0.01


def test_values_are_exchanged_only_with_those_for_the_same():
    """Compare with all permutations of six values, of which only some stay within their groups."""
    first, second = np.array([[0.0], [1.0], [7.0]]), np.array([[3.0], [8.0], [9.5]])
    pairs = np.array([0, 0, 1]), np.array([0, 1, 1])
    values, groups = np.concatenate([first, second]), np.concatenate(pairs)
    allowed = [order for order in permutations(range(6)) if (groups[list(order)] == groups).all()]
    seen = slow(first, second, lambda a, b: -math.dist(a, b))
    found = [
        slow(values[list(order[:3])], values[list(order[3:])], lambda a, b: -math.dist(a, b))
        for order in allowed
    ]
    expected = np.mean(np.array(found) >= seen - 1e-9)
    test = energy_test(first, second, pairs=pairs, permutations=4000)
    assert test.p_value == pytest.approx(expected, abs=0.03)
    assert test.p_value != pytest.approx(
        energy_test(first, second, permutations=4000).p_value, abs=0.03
    )


def test_units_do_not_matter_once_scaled():
    rng = RNG(4)
    first, second = rng.normal(size=(20, 2)), rng.normal(0.5, size=(20, 2))
    units = np.array([1000.0, 0.01])
    plain = energy_test(first, second, is_scaled=True)
    scaled = energy_test(first * units, second * units, is_scaled=True)
    # Processors round products differently: the last bits of the statistic are the machine's own.
    assert scaled.statistic == pytest.approx(plain.statistic, rel=1e-12)
    assert scaled.p_value == plain.p_value
    assert (
        energy_test(first, second).statistic != energy_test(first * units, second * units).statistic
    )
    energy_test(first * [1, 0], second * [1, 0], is_scaled=True)  # a constant has no unit


def test_work_in_small_pieces_and_another_seed(monkeypatch):
    rng = RNG(5)
    first, second = rng.normal(size=(2, 15, 1))
    whole = energy_test(first, second)
    monkeypatch.setattr(permutation_tests, "_AT_ONCE", 100)
    assert energy_test(first, second) == whole
    assert energy_test(first, second, seed=1).p_value != whole.p_value


def test_kernel_where_most_values_are_equal():
    assert gaussian_kernel(np.zeros((3, 3))).tolist() == np.ones((3, 3)).tolist()
    apart = np.zeros((4, 4))
    apart[0, 3] = apart[3, 0] = 5.0
    assert gaussian_kernel(apart)[0, 3] == pytest.approx(math.exp(-0.5))


@pytest.mark.parametrize(
    ("first", "options", "said"),
    [
        (np.zeros((3, 3)), {}, "n1, k"),
        (np.zeros((0, 2)), {}, "with values"),
        (np.full((3, 2), np.inf), {}, "infinity"),
        (np.zeros((3, 2)), {"pairs": ([0, 1, 2], [0, 1])}, "one for each value"),
        (np.zeros((3, 2)), {"permutations": 0}, "permutation"),
    ],
)
def test_what_cannot_be_tested_is_refused(first, options, said):
    with pytest.raises(InvalidInput, match=said):
        energy_test(first, np.zeros((3, 2)), **options)


def test_a_kernel_of_another_size_is_refused():
    with pytest.raises(InvalidInput, match="4 x 4"):
        permutation_test(np.eye(3), (2, 2))
