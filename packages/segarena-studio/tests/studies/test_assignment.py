from collections import Counter

import pytest

from segarena_studio.studies.assignment import (
    CandidateItem,
    choose_arm,
    choose_check_positions,
    choose_items,
)
from segarena_studio.studies.description import Arm

ARMS = (Arm("click", "cut-out"), Arm("click", "silhouette"), Arm("scribble", "cut-out"))
ABOUT = {"size": 3, "wanted": 4, "seed": 7, "person": "p1", "batch": 1}


def candidates(images=8, of_each=2, answers=None):
    return [
        CandidateItem(number, f"image {number % images}", (answers or {}).get(number, 0))
        for number in range(images * of_each)
    ]


def test_arms_are_in_balance_whenever_one_looks():
    people = Counter()
    for number in range(31):
        people[choose_arm(ARMS, people, 0, f"p{number}")] += 1
        assert max(people.values()) - min(people[arm] for arm in ARMS) <= 1


def test_the_same_people_get_the_same_and_others_get_others():
    first = [choose_arm(ARMS, {}, 0, f"p{number}") for number in range(20)]
    assert first == [choose_arm(ARMS, {}, 0, f"p{number}") for number in range(20)]
    assert len(set(first)) == 3
    assert first != [choose_arm(ARMS, {}, 1, f"p{number}") for number in range(20)]
    chosen = choose_items(candidates(), (), **ABOUT)
    assert chosen == choose_items(candidates()[::-1], (), **ABOUT)
    assert chosen != choose_items(candidates(), (), **{**ABOUT, "person": "p2"})


def test_a_batch_has_different_images_none_of_which_was_seen():
    chosen = choose_items(candidates(), {"image 1", "image 2"}, **{**ABOUT, "size": 10})
    images = [number % 8 for number in chosen]
    assert sorted(images) == [0, 3, 4, 5, 6, 7]


def test_what_has_fewest_answers_comes_and_what_has_enough_does_not():
    answers = dict.fromkeys(range(16), 3) | {5: 1, 6: 1, 12: 2, 0: 4, 8: 4}
    assert set(choose_items(candidates(answers=answers), (), **ABOUT)) == {5, 6, 12}
    everything = choose_items(candidates(answers=answers), (), **{**ABOUT, "size": 99})
    assert {0, 8}.isdisjoint(everything)
    assert choose_items(candidates(answers=dict.fromkeys(range(16), 4)), (), **ABOUT) == []


def test_a_whole_study_comes_out_even():
    """Forty people with two batches each: nobody sees an image twice, and items stay even, give or take two."""
    answers, sizes = Counter(), Counter()
    for person in range(40):
        seen = set()
        for batch in (1, 2):
            chosen = choose_items(
                candidates(answers=answers),
                seen,
                size=3,
                wanted=99,
                seed=1,
                person=f"p{person}",
                batch=batch,
            )
            seen |= {f"image {number % 8}" for number in chosen}
            answers.update(chosen)
            sizes[len(chosen)] += 1
        assert len(seen) == 6
    assert sizes == {3: 80}
    assert max(answers.values()) - min(answers.values()) <= 2


@pytest.mark.parametrize("count", [0, 1, 3])
def test_checks_are_never_first_and_have_places_of_their_own(count):
    found = {tuple(choose_check_positions(count, 10, 0, f"p{person}", 1)) for person in range(60)}
    assert all(
        len(set(places)) == count and all(0 < place < 10 + count for place in places)
        for places in found
    )
    assert len(found) > 1 or not count
