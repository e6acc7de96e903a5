"""The area under the ROC curve, compared with scikit-learn, and its bootstrap over groups, compared with a loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.errors import InvalidInput
from segarena.statistics.roc import area_over_groups, area_under_roc

metrics = pytest.importorskip("sklearn.metrics")


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=9),
    st.lists(st.integers(0, 5), min_size=1, max_size=9),
)
def test_area_equals_that_of_scikit_learn(first, second):
    expected = metrics.roc_auc_score([0] * len(first) + [1] * len(second), first + second)
    assert area_under_roc(first, second) == pytest.approx(expected, abs=1e-12)


def slow_area(first, second, groups, drawn):
    """Return the area for the values of the sampled groups, with repetitions; NaN without values."""
    one, two = groups[: first.shape[1]], groups[first.shape[1] :]
    areas = []
    for low, high in zip(first, second, strict=True):
        below = np.concatenate([low[one == group] for group in drawn])
        above = np.concatenate([high[two == group] for group in drawn])
        areas.append(area_under_roc(below, above) if len(below) and len(above) else np.nan)
    return np.mean(areas)


@pytest.mark.parametrize("shared", [True, False])
def test_draws_equal_a_loop_over_the_groups_drawn(shared):
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 9, (2, 3, 30)) / 9 + np.array([0, 0.2])[:, None, None]
    groups = np.concatenate(
        [np.arange(30) % 6, np.arange(30) % 7 if shared else 6 + np.arange(30) % 4]
    )
    count = int(groups.max()) + 1
    auc, draws = area_over_groups(first, second, groups, 200, np.random.default_rng(8))
    again = np.random.default_rng(8)
    expected = [
        slow_area(first, second, groups, again.integers(count, size=count)) for _ in range(200)
    ]
    assert auc == pytest.approx(slow_area(first, second, groups, range(count)))
    assert draws == pytest.approx(np.array(expected), nan_ok=True)


def test_draws_without_one_of_the_two_are_not_a_number():
    first, second = np.array([[0.1, 0.2]]), np.array([[0.3, 0.4]])
    auc, draws = area_over_groups(
        first, second, np.array([0, 0, 1, 1]), 50, np.random.default_rng(1)
    )
    assert auc == 1
    assert 0 < np.isnan(draws).sum() < 50
    assert (draws[~np.isnan(draws)] == 1).all()


@pytest.mark.parametrize(("first", "second"), [([], [1.0]), ([np.nan], [1.0]), ([[1.0]], [1.0])])
def test_what_has_no_area_is_refused(first, second):
    with pytest.raises(InvalidInput, match="ROC"):
        area_under_roc(first, second)
