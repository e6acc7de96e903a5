"""Samples of a run: secret, the same for all teams, and new for a team as long as any are left."""

from collections import Counter

import pytest

from segarena.errors import InvalidInput
from segarena_server.challenges.description import Phase
from segarena_server.challenges.sample_selection import draw_samples

POOL = [f"s{number}" for number in range(20)]
PHASE = Phase(name="final", samples_per_run=6, seed=1)


def test_nothing_comes_twice_as_long_as_something_is_new():
    runs = Counter()
    drawn = []
    for _ in range(3):
        drawn.append(draw_samples(POOL, PHASE, runs=runs))
        runs.update(drawn[-1])
    assert len({*drawn[0], *drawn[1], *drawn[2]}) == 18
    last = draw_samples(POOL, PHASE, runs=runs)
    assert {*POOL} - {*runs} < {*last}
    runs.update(last)
    assert max(runs.values()) == 2


def test_the_seed_decides_and_the_order_of_the_pool_does_not():
    first = draw_samples(POOL, PHASE, runs={})
    assert draw_samples(POOL[::-1], PHASE, runs={}) == first
    assert draw_samples(POOL, Phase(name="final", samples_per_run=6, seed=2), runs={}) != first
    assert first != tuple(POOL[:6])


def test_a_sample_is_in_one_run_of_a_team_at_once():
    busy = frozenset(draw_samples(POOL, PHASE, runs={}))
    assert not busy & {*draw_samples(POOL, PHASE, runs=dict.fromkeys(busy, 1), busy=busy)}
    with pytest.raises(InvalidInput, match="finish one first"):
        draw_samples(POOL, PHASE, runs={}, busy=frozenset(POOL[:15]))


def test_a_practice_is_the_same_each_time():
    practice = Phase(name="practice", kind="practice", samples_per_run=3, seed=1)
    assert draw_samples(POOL, practice, runs=dict.fromkeys(POOL, 4), busy=frozenset(POOL)) == (
        "s0",
        "s1",
        "s2",
    )


def test_without_a_number_a_run_is_about_all():
    assert sorted(draw_samples(POOL, Phase(name="all"), runs={})) == sorted(POOL)
    with pytest.raises(InvalidInput, match="got none"):
        draw_samples([], PHASE, runs={})
