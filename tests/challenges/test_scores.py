"""What is shown of scores, and which runs are one."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from segarena import evaluate
from segarena.challenges.description import Challenge, Phase
from segarena.challenges.scores import board_until, likeness_of, scores_of, shows_board, shows_own

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Shrunk:
    """Gives a part of the brightest pixels: worse the less of them, and a pixel more or less."""

    def __init__(self, share=1.0, *, extra=0):
        self.share = share
        self.extra = extra

    def encode(self, sample):
        return sample.image.mean(axis=2) > 95

    def predict(self, bright, dialogues):
        mask = bright & (np.indices(bright.shape)[1] < self.share * bright.shape[1])
        mask.flat[: self.extra] = True
        return [mask] * len(dialogues)


@pytest.fixture(scope="module")
def runs(pool, tmp_path_factory):
    """Hold a run once; `runs("good")` is its folder."""
    folder = tmp_path_factory.mktemp("runs")
    made = {
        "good": Shrunk(),
        "again": Shrunk(),
        "copied": Shrunk(extra=1),
        "as good": Shrunk(0.99),
        "worse": Shrunk(0.5),
        "little": Shrunk(0.0),
    }
    for name, segmenter in made.items():
        evaluate("clicks(rounds=2)", segmenter=segmenter, dataset=pool, out=folder / name, name="mine")
    return folder.joinpath


def test_scores_are_rounded_as_the_phase_says(runs):
    exact, rough = (scores_of(runs("worse"), Phase(name="a", decimals=decimals)) for decimals in (6, 1))
    assert {score.user for score in exact} == {"centre"}
    known = [(fine, coarse) for fine, coarse in zip(exact, rough, strict=True) if fine.mean is not None]
    assert known
    assert all(coarse.mean == round(fine.mean, 1) for fine, coarse in known)
    assert any(coarse.mean != fine.mean for fine, coarse in known)


def test_the_same_masks_are_found_even_with_a_pixel_changed(runs):
    assert likeness_of(runs("good"), runs("again")).share == 1.0
    assert likeness_of(runs("good"), runs("again")).is_near
    copied = likeness_of(runs("good"), runs("copied"))
    assert copied.compared >= 8
    assert copied.share == 1.0
    assert not likeness_of(runs("good"), runs("worse")).is_near
    assert likeness_of(runs("little"), runs("little")).compared == 0


def test_what_is_shown_when():
    early, late = NOON - HOUR, NOON
    shown = {shows: Phase(name="a", shows=shows, closes=NOON) for shows in ("prompts", "own", "board")}
    assert {name: (shows_own(phase, early), shows_board(phase, early)) for name, phase in shown.items()} == {
        "prompts": (False, False),
        "own": (True, False),
        "board": (True, True),
    }
    assert all(shows_own(phase, late) and shows_board(phase, late) for phase in shown.values())


def test_a_frozen_board_stands_still_until_the_end():
    phases = (Phase(name="a", closes=NOON),)
    challenge = Challenge(slug="c", title="C", benchmark="x", dataset="y", phases=phases, frozen=NOON - HOUR)
    moments = [NOON - 2 * HOUR, NOON - HOUR, NOON - HOUR / 2, NOON]
    assert [board_until(challenge, moment) for moment in moments] == [None, NOON - HOUR, NOON - HOUR, None]
