from __future__ import annotations

import numpy as np
import pytest

from segarena_people.fitting.person_effects import estimate_person_effects


def measured(between, *, people=40, each=20, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    own = rng.standard_normal(people)
    own = between * (own - own.mean()) / own.std(ddof=1)
    values = own[:, None] + noise * rng.standard_normal((people, each))
    return values.ravel(), [f"p{k}" for k in range(people) for _ in range(each)], own


def test_what_lies_between_people_is_told_from_chance():
    values, names, own = measured(0.4)
    spread, shifts = estimate_person_effects(values, names)
    assert spread == pytest.approx(0.4, rel=0.1)
    assert np.corrcoef(shifts[::20], own)[0, 1] > 0.95


def test_people_who_are_alike_have_next_to_nothing_between_them():
    assert (
        np.mean([estimate_person_effects(*measured(0.0, seed=seed)[:2])[0] for seed in range(10)])
        < 0.06
    )


def test_little_that_was_seen_of_somebody_counts_little():
    values, names, _ = measured(0.4, each=5, noise=2.0)
    _, shifts = estimate_person_effects(values, names)
    means = values.reshape(-1, 5).mean(axis=1)
    assert np.ptp(shifts) < 0.5 * np.ptp(means)


def test_nobody_known_and_few_values_have_no_shift():
    spread, shifts = estimate_person_effects([1.0, 2.0, 3.0] * 4, ["", "one", "two"] * 4)
    assert spread == 0.0
    assert not shifts.any()
