from __future__ import annotations

import numpy as np
import pytest

from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue
from segarena.errors import InvalidInput
from segarena.roles import Turn
from segarena.samples import ImageSample, Target
from segarena.users.habits.crowd import Crowd

MASK = np.ones((4, 4), dtype=bool)


def turn_of(sample, *, repeat=0, rounds=0):
    return Turn(
        sample=ImageSample(id=sample, image=np.zeros((4, 4, 3), dtype=np.uint8)),
        target=Target(id="t", mask=MASK),
        dialogue=Dialogue(rounds=((),) * rounds),
        comparison=Comparison.empty(Reference(MASK)),
        rng=np.random.default_rng(rounds),
        repeat=repeat,
    )


def habit(crowd, *where, **how):
    return crowd.person(turn_of(*where, **how)).random()


def test_a_person_of_a_crowd_is_the_same_for_all_targets_and_rounds():
    crowd = Crowd(people=3)
    assert (
        habit(crowd, "one", repeat=1)
        == habit(crowd, "two", repeat=1)
        == habit(crowd, "two", repeat=1, rounds=4)
    )
    assert len({habit(crowd, "one", repeat=k) for k in range(3)}) == 3


def test_a_person_is_drawn_from_the_seed_of_the_crowd_and_a_number():
    assert habit(Crowd(people=2, seed=5), "one", repeat=1) == np.random.default_rng([5, 1]).random()


def test_one_person_is_somebody_else_in_each_dialogue_but_not_in_each_round():
    anybody = Crowd()
    assert habit(anybody, "one") == habit(anybody, "one", rounds=3)
    assert len({habit(anybody, "one"), habit(anybody, "two"), habit(anybody, "one", repeat=1)}) == 3


def test_a_crowd_holds_a_dialogue_with_each_person():
    turn = turn_of("one")
    assert Crowd(people=7).repeats(turn.sample, turn.target) == 7


@pytest.mark.parametrize("told", [{"people": 0}, {"seed": -1}])
def test_a_crowd_of_nobody_is_refused(told):
    with pytest.raises(InvalidInput, match="expected people"):
        Crowd(**told)
