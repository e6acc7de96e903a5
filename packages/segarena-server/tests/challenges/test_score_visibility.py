"""What is shown of scores, and when."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from segarena import evaluate
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.score_visibility import (
    board_cutoff,
    folder_scores,
    shows_board,
    shows_own_scores,
)

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class HalfOfTheBright:
    """Gives the bright pixels of the left half."""

    def encode(self, sample):
        return (sample.image.mean(axis=2) > 95) & (
            np.indices(sample.shape)[1] < 0.5 * sample.shape[1]
        )

    def predict(self, bright, dialogues):
        return [bright] * len(dialogues)


@pytest.fixture(scope="module")
def run(pool, tmp_path_factory):
    """The folder of a run that is neither good nor bad."""
    folder = tmp_path_factory.mktemp("runs") / "half"
    return evaluate(
        "clicks(rounds=2)", segmenter=HalfOfTheBright(), dataset=pool, out=folder, name="mine"
    ).path


def test_scores_are_rounded_as_the_phase_says(run):
    exact, rough = (folder_scores(run, Phase(name="a", decimals=decimals)) for decimals in (6, 1))
    assert {score.user for score in exact} == {"centre"}
    known = [
        (fine, coarse) for fine, coarse in zip(exact, rough, strict=True) if fine.mean is not None
    ]
    assert known
    assert all(coarse.mean == round(fine.mean, 1) for fine, coarse in known)
    assert any(coarse.mean != fine.mean for fine, coarse in known)


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
