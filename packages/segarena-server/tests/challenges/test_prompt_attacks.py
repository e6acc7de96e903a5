"""Attackers that never look at a sample gain little from prompts."""

import numpy as np
import pytest

from segarena.segmenters.image_blind import Extent
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.leak_meter import LeakSummary, summarise_leaks
from segarena_server.challenges.prompt_attacks import (
    ACCOUNTS,
    ATTACKERS,
    GROWN_SHARE,
    HONEST,
    bisect,
    grow_and_shrink,
    measure_prompt_attacks,
    resized,
)

SHAPE = (40, 60)
EXTENT = Extent(SHAPE, None, False)
ROWS, COLUMNS = np.indices(SHAPE)
DISC = (np.hypot(ROWS - 20, COLUMNS - 25) < 12).astype(np.uint8)


@pytest.fixture(scope="module")
def attacks(pool):

    described = ChallengeDescription(
        slug="c",
        title="C",
        benchmark="clicks(rounds=8)",
        dataset=pool,
        phases=(Phase(name="test"),),
    )
    measured = measure_prompt_attacks(described, "test", [f"p{number}" for number in range(8)])
    return {(attack.attacker, attack.accounts): attack for attack in measured}


@pytest.mark.long
def test_each_attacker_is_measured_and_the_strongest_comes_first(attacks):
    pooled = {("pool their prompts", accounts) for accounts in ACCOUNTS}
    assert set(attacks) == {(HONEST, 1), *((name, 1) for name in ATTACKERS), *pooled}
    means = [attack.leaks.mean for attack in attacks.values()]
    assert means == sorted(means, reverse=True)
    for attack in attacks.values():
        assert attack.leaks.targets == 8
        assert attack.leaks.mean <= attack.leaks.p95 <= attack.leaks.highest <= 1


def test_chosen_errors_and_more_accounts_reveal_more_than_honest_answers(attacks):
    """The claim that no target gains more than .05 was measured with honest blind answers alone."""
    honest = attacks[HONEST, 1]
    assert (honest.gain.mean, honest.gain.highest) == (0.0, 0.0)
    alone = [attacks[name, 1].gain for name in ATTACKERS]
    assert max(gain.highest for gain in alone) > 0.05
    assert attacks["pool their prompts", 5].gain.mean > max(0.02, *(gain.mean for gain in alone))


@pytest.mark.parametrize("share", [GROWN_SHARE, -GROWN_SHARE])
def test_objects_are_resized_at_their_edge(share):
    changed = resized(DISC, EXTENT, share)
    assert np.count_nonzero(changed) == DISC.sum() + np.sign(share) * round(abs(share) * DISC.sum())
    inner = np.hypot(ROWS - 20, COLUMNS - 25) < 10
    outer = np.hypot(ROWS - 20, COLUMNS - 25) > 14
    assert changed[inner].all()
    assert not changed[outer].any()


def test_objects_keep_their_numbers_and_frames():
    labels = np.zeros((3, 20, 30), np.uint8)
    labels[1, 5:15, 2:10] = 1
    labels[1, 5:15, 20:28] = 2
    extent = Extent(labels.shape, None, True)
    grown = resized(labels, extent, 0.2)
    assert np.count_nonzero(grown[1] == 1) > 80
    assert np.count_nonzero(grown[1] == 2) > 80
    assert not grown[[0, 2]].any()
    assert not resized(np.zeros_like(labels), extent, 0.2).any()


def test_answers_take_turns():
    sizes = [int(np.count_nonzero(grow_and_shrink(DISC, EXTENT, n))) for n in range(3)]
    assert sizes[0] == sizes[2] > DISC.sum() > sizes[1]
    by_rows = bisect(DISC, EXTENT, 0)
    by_columns = bisect(DISC, EXTENT, 1)
    assert by_rows[:20].sum() > by_rows[20:].sum()
    assert by_columns[:, :25].sum() > by_columns[:, 25:].sum()


def test_a_summary_has_the_percentile_and_the_maximum():
    summary = summarise_leaks(np.linspace(0, 1, 101))
    assert (summary.targets, summary.mean) == (101, pytest.approx(0.5))
    assert (summary.p95, summary.highest) == (pytest.approx(0.95), 1.0)
    assert summarise_leaks([]) == LeakSummary(targets=0, mean=None, p95=None, highest=None)
