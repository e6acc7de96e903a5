from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from segarena.errors import InvalidInput
from segarena.statistics.feature_differences import feature_differences

metrics = pytest.importorskip("sklearn.metrics")


def sample():
    return hnp.arrays(
        np.float64, st.tuples(st.integers(1, 8), st.just(2)), elements=st.integers(0, 4).map(float)
    )


def slow_ks(one, two):
    return max(abs(np.mean(one <= number) - np.mean(two <= number)) for number in [*one, *two])


@given(sample(), sample())
def test_equals_a_loop_and_scikit_learn_in_each_feature(first, second):
    found = feature_differences(first, second)
    labels = [0] * len(first) + [1] * len(second)
    for column in range(2):
        one, two = first[:, column], second[:, column]
        assert found.ks[column] == pytest.approx(slow_ks(one, two), abs=1e-12)
        assert found.above[column] == pytest.approx(
            metrics.roc_auc_score(labels, [*one, *two]), abs=1e-12
        )
    assert found.medians == pytest.approx(
        np.array([np.median(first, axis=0), np.median(second, axis=0)])
    )


def test_infinite_values_are_refused():
    with pytest.raises(InvalidInput, match="infinity"):
        feature_differences([[np.inf]], [[0.0]])
