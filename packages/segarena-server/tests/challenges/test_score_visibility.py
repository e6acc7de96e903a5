"""Visibility of scores, and its times."""

from datetime import UTC, datetime, timedelta
from math import floor, log10, nan

import numpy as np
import pytest

from segarena import evaluate
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.score_visibility import (
    board_cutoff,
    folder_scores,
    shown_decimals,
    shows_board,
    shows_own_scores,
)

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class HalfOfTheBright:
    """Predicts the bright pixels of the left half."""

    def encode(self, sample):
        return (sample.image.mean(axis=2) > 95) & (
            np.indices(sample.shape)[1] < 0.5 * sample.shape[1]
        )

    def predict(self, bright, dialogues):
        return [bright] * len(dialogues)


@pytest.fixture(scope="module")
def run(pool, tmp_path_factory):
    """The folder of a run of medium quality."""
    folder = tmp_path_factory.mktemp("runs") / "half"
    return evaluate(
        "clicks(rounds=2)", segmenter=HalfOfTheBright(), dataset=pool, out=folder, name="mine"
    ).path


def test_scores_are_rounded_as_the_phase_says(run):
    exact, rough = (
        folder_scores(run, Phase(name="a", kind="practice", decimals=decimals))
        for decimals in (6, 1)
    )
    assert {score.user for score in exact} == {"centre"}
    known = [
        (fine, coarse) for fine, coarse in zip(exact, rough, strict=True) if fine.mean is not None
    ]
    assert known
    assert all(coarse.mean == round(fine.mean, 1) for fine, coarse in known)
    assert any(coarse.mean != fine.mean for fine, coarse in known)


def test_a_test_shows_no_digits_that_are_finer_than_the_interval(run):
    exact = folder_scores(run, Phase(name="a", kind="practice", decimals=6))
    shown = folder_scores(run, Phase(name="a", decimals=6))
    for fine, coarse in zip(exact, shown, strict=True):
        if fine.mean is None or not fine.low < fine.high:
            continue
        unit = 10 ** floor(log10((fine.high - fine.low) / 2))
        assert coarse.mean == round(fine.mean, max(0, -round(log10(unit))))


@pytest.mark.parametrize(
    ("ends", "decimals"),
    [
        ((0.66, 0.74), 2),
        ((0.58, 0.82), 1),
        ((0.7, 0.702), 3),
        ((0.7, 0.7), 4),
        ((4.0, 10.0), 0),
        ((nan, nan), 1),
    ],
)
def test_the_last_digit_is_the_first_one_of_half_the_interval(ends, decimals):
    phase = Phase(name="a", decimals=4)
    assert shown_decimals(*ends, phase, is_closed=False) == decimals
    assert shown_decimals(*ends, phase, is_closed=True) == 4
    practice = Phase(name="a", kind="practice", decimals=4)
    assert shown_decimals(*ends, practice, is_closed=False) == 4


def test_what_is_shown_when():
    early, late = NOON - HOUR, NOON
    shown = {
        shows: Phase(name="a", shows=shows, closes=NOON) for shows in ("prompts", "own", "board")
    }
    assert {
        name: (shows_own_scores(phase, early), shows_board(phase, early))
        for name, phase in shown.items()
    } == {
        "prompts": (False, False),
        "own": (True, False),
        "board": (True, True),
    }
    assert all(
        shows_own_scores(phase, late) and shows_board(phase, late) for phase in shown.values()
    )


def test_a_frozen_board_stands_still_until_the_end():
    phases = (Phase(name="a", closes=NOON),)
    challenge = ChallengeDescription(
        slug="c", title="C", benchmark="x", dataset="y", phases=phases, frozen=NOON - HOUR
    )
    moments = [NOON - 2 * HOUR, NOON - HOUR, NOON - HOUR / 2, NOON]
    assert [board_cutoff(challenge, moment) for moment in moments] == [
        None,
        NOON - HOUR,
        NOON - HOUR,
        None,
    ]
