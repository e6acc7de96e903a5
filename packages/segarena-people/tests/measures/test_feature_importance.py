import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.statistics import classifier_test
from segarena_people.measures.feature_importance import rank_features


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch):
    monkeypatch.setattr(classifier_test, "_TREES", 25)
    monkeypatch.setattr(classifier_test, "_MOST_SPLITS", 1)


def test_what_differs_comes_first_with_its_direction():
    rng = np.random.default_rng(1)
    people, simulated = rng.normal(size=(2, 60, 3))
    simulated[:, 1] -= 2.5
    groups = np.arange(60), np.arange(60)
    test, told = rank_features(people, simulated, groups, ["length", "depth", "ends"], exchanges=2)
    first, *others = told
    assert first.feature == "depth"
    assert first.ks > 0.7
    assert first.above < 0.2
    assert first.people == pytest.approx(np.median(people[:, 1]))
    assert first.simulated == pytest.approx(np.median(simulated[:, 1]))
    assert first.lost > 0.3
    assert max(abs(one.lost) for one in others) < 0.1
    assert test.auc > 0.9


def test_together_they_tell_what_neither_tells_alone():
    """The signs of two features agree or disagree, so no feature differs by itself."""
    rng = np.random.default_rng(2)
    one, two = rng.choice([-1.0, 1.0], (2, 150))
    size = 1 + rng.random(150)
    people = np.stack([one, one * size], axis=1)
    simulated = np.stack([two, -two * size], axis=1)
    test, told = rank_features(
        people, simulated, (np.arange(150), np.arange(150)), ["row", "column"], exchanges=1
    )
    assert test.auc > 0.95
    assert max(feature.ks for feature in told) < 0.25
    assert min(feature.lost for feature in told) > 0.3


@pytest.mark.long
def test_it_looks_at_the_rows_that_were_drawn():
    rng = np.random.default_rng(3)
    people = rng.normal(size=(50, 1))
    simulated = rng.normal(size=(30, 1))
    test, (only,) = rank_features(
        people, simulated, (np.arange(50), np.arange(30)), ["length"], n=20, exchanges=1
    )
    assert only.people == pytest.approx(np.median(people[test.rows[0]]))
    assert only.simulated == pytest.approx(np.median(simulated[test.rows[1]]))


def test_names_must_fit():
    with pytest.raises(InvalidInput, match="a name for each"):
        rank_features(np.zeros((9, 2)), np.zeros((9, 2)), (range(9), range(9)), ["length"])
