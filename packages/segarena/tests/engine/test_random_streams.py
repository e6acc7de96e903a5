"""Random streams depend only on their names."""

import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from segarena.engine.random_streams import random_stream
from segarena.roles import Turn

names = st.lists(st.one_of(st.text(max_size=5), st.integers(-5, 5)), max_size=4)


def numbers(seed, *given_names):
    return random_stream(seed, *given_names).integers(0, 2**63, 4).tolist()


@given(st.integers(0, 2**40), names)
def test_the_same_names_give_the_same_numbers(seed, given_names):
    random_stream(seed + 1).random(100)
    assert numbers(seed, *given_names) == numbers(seed, *given_names)


@given(st.integers(0, 9), names, st.integers(0, 9), names)
def test_other_names_give_other_numbers(seed, one, other_seed, other):
    is_same = (seed, one) == (other_seed, other)
    assert (numbers(seed, *one) == numbers(other_seed, *other)) == is_same


def test_where_one_name_ends_and_the_next_begins_matters():
    keys = [
        ("ab", "c"),
        ("a", "bc"),
        ("abc",),
        ("a", "b", "c"),
        (1, 2),
        (12,),
        ("1", 2),
        ("1", "2"),
        ('a", "bc',),
    ]
    assert all(numbers(0, *one) != numbers(0, *other) for one, other in combinations(keys, 2))


def test_the_numbers_are_the_same_in_every_process_and_version():
    code = (
        "from segarena.engine.random_streams import random_stream; "
        "print(random_stream(7, 'clicks', 'é', 3).integers(0, 1000, 5).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(
        random_stream(7, "clicks", "é", 3).integers(0, 1000, 5).tolist()
    )
    assert done.stdout.strip() == "[988, 866, 936, 205, 405]"


def test_streams_of_neighbouring_rounds_are_uniform_and_independent():
    table = np.array(
        [
            random_stream(0, "user", repeat, round_).random(1)[0]
            for repeat in range(500)
            for round_ in (1, 2)
        ]
    )
    first, second = table[::2], table[1::2]
    assert stats.kstest(table, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.12


def test_a_turn_makes_its_generator_once_when_it_is_first_read():
    made = []

    def make():
        made.append(random_stream(0, "turn"))
        return made[-1]

    nothing: Any = None
    turn = Turn(sample=nothing, target=nothing, dialogue=nothing, comparison=nothing, rng=make)
    assert not made
    assert turn.rng is turn.rng
    assert replace(turn, repeat=1).rng is turn.rng
    assert len(made) == 1
