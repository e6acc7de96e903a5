"""People compared with people: the pairs, the shared groups, and the number of values of each."""

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.statistics import classifier_test
from segarena_people.measures import human_ceiling
from segarena_people.measures.human_ceiling import (
    ceiling_by_halves,
    ceiling_by_person,
    excess_over_ceiling,
)


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch):
    monkeypatch.setattr(classifier_test, "_TREES", 25)
    monkeypatch.setattr(classifier_test, "_MOST_SPLITS", 1)


def three_people(images=24, shift=(0, 0, 4), seed=1):
    """Each person has a value for each image; the third person differs."""
    rng = np.random.default_rng(seed)
    persons = np.tile(np.array(["ann", "bob", "eve"]), images)
    features = rng.normal(size=(3 * images, 2)) + np.tile(shift, images)[:, None]
    return features, persons, np.repeat(np.arange(images), 3)


@pytest.mark.long
def test_who_differs_is_told_from_the_others_and_they_not_from_each_other():
    found = ceiling_by_person(*three_people())
    areas = dict(zip(found.names, (test.auc for test in found.tests), strict=True))
    assert list(areas) == [("ann", "bob"), ("ann", "eve"), ("bob", "eve")]
    assert areas["ann", "bob"] < 0.75
    assert min(areas["ann", "eve"], areas["bob", "eve"]) > 0.95
    assert found.auc == sorted(areas.values())[1]


@pytest.mark.long
def test_people_are_compared_on_what_both_were_asked_for(monkeypatch):
    features, persons, images = three_people()
    kept = ~((persons == "eve") & (images < 10)) & ~((persons == "ann") & (images >= 20))
    seen = []

    def noted(first, second, groups, **options):
        seen.append(
            (
                [sorted(np.unique(part).astype(int)) for part in groups],
                len(first),
                len(second),
                options["n"],
            )
        )
        return classifier_test.c2st(first, second, groups, **options)

    monkeypatch.setattr(human_ceiling, "c2st", noted)
    found = ceiling_by_person(features[kept], persons[kept], images[kept])
    assert seen[0] == ([list(range(20))] * 2, 20, 20, 10)  # ann and bob
    assert seen[1] == ([list(range(10, 20))] * 2, 10, 10, 10)  # ann and eve
    assert seen[2] == ([list(range(10, 24))] * 2, 14, 14, 10)  # bob and eve
    assert {test.n for test in found.tests} == {10}


def test_pairs_with_too_little_in_common_are_left_out_and_named():
    features, persons, images = three_people()
    kept = ~((persons == "eve") & (images >= 4))
    found = ceiling_by_person(features[kept], persons[kept], images[kept])
    assert (found.names, found.left_out) == ((("ann", "bob"),), (("ann", "eve"), ("bob", "eve")))
    with pytest.raises(InvalidInput, match="compare halves"):
        ceiling_by_person(features[kept], persons[kept], images[kept], n=25)


@pytest.mark.long
def test_halves_of_one_crowd_are_not_told_apart_though_its_people_are():
    features, _, images = three_people(images=60)
    found = ceiling_by_halves(features, images, splits=4)
    assert 0.35 < found.auc < 0.65
    assert found.n == 90
    assert len({test.auc for test in found.tests}) > 1  # splits differ, not only folds
    low, high = found.interval
    assert low < found.auc < high


def test_halves_divide_each_group_evenly_and_at_random(monkeypatch):
    alone = np.arange(100, 111)
    groups = np.concatenate([np.repeat(np.arange(20), 3), alone])
    seen = []
    monkeypatch.setattr(
        human_ceiling, "c2st", lambda *args, **options: seen.append((args, options["n"]))
    )
    ceiling_by_halves(np.arange(71.0)[:, None], groups, splits=4)
    for (first, second, (in_first, in_second)), n in seen:
        assert sorted([*first[:, 0], *second[:, 0]]) == list(range(71))
        assert (len(first), len(second), n) == (36, 35, 35)
        assert in_first.tolist() == groups[first[:, 0].astype(int)].astype(str).tolist()
        assert all(
            abs((in_first == name).sum() - (in_second == name).sum()) == 1
            for name in np.unique(groups.astype(str))
        )
    assert len({tuple(first[:, 0]) for (first, _, _), _ in seen}) == 4
    # Who gets the odd one, and on which side a single row lies, is chance.
    assert (
        len(
            {
                sum(name in in_first for name in alone.astype(str))
                for (_, _, (in_first, _)), _ in seen
            }
        )
        > 1
    )


def against_each(features, persons, images, user):
    """A user with answers for the same images, compared with each person."""
    own = [(features[persons == name], images[persons == name]) for name in np.unique(persons)]
    return [classifier_test.c2st(values, user, (groups, groups)) for values, groups in own]


@pytest.mark.long
def test_a_user_like_one_more_person_is_not_beyond_people_and_another_is():
    features, persons, images = three_people(images=40, shift=(0, 1, 2))
    people = ceiling_by_person(features, persons, images)
    rng = np.random.default_rng(7)
    like = rng.normal(1, size=(40, 2))
    unlike = rng.normal(8, size=(40, 2))
    more, low, high = excess_over_ceiling(against_each(features, persons, images, like), people)
    assert low < 0.05
    assert low < more < high
    more, low, high = excess_over_ceiling(against_each(features, persons, images, unlike), people)
    assert more == pytest.approx(1 - people.auc)
    assert 0 < low < more < high


@pytest.mark.long
def test_the_same_tests_are_nothing_beyond_themselves():
    people = ceiling_by_person(*three_people())
    assert excess_over_ceiling(people.tests, people) == (0, 0, 0)


def test_nothing_is_beyond_without_tests_or_with_other_draws():
    people = ceiling_by_person(*three_people())
    with pytest.raises(InvalidInput, match="tests"):
        excess_over_ceiling([], people)
    fewer = [
        classifier_test.c2st(np.zeros((9, 1)), np.ones((9, 1)), (range(9), range(9)), repeats=9)
    ]
    with pytest.raises(InvalidInput, match="bootstrap resamples"):
        excess_over_ceiling(fewer, people)


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        (lambda: ceiling_by_person(np.zeros((9, 2)), ["a"] * 9, range(8)), "an id for each row"),
        (lambda: ceiling_by_person(np.zeros((9, 2)), ["a"] * 9, range(9)), "two people"),
        (lambda: ceiling_by_halves(np.zeros((9, 2)), range(9)), "10 rows"),
        (lambda: ceiling_by_halves(np.zeros((10, 2)), range(10), splits=0), "one split"),
        (
            lambda: ceiling_by_halves(np.zeros((10, 2)), range(10), n=6),
            "the size of the smaller sample",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(measure, said):
    with pytest.raises(InvalidInput, match=said):
        measure()
