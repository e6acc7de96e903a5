from __future__ import annotations

import numpy as np
import pytest

from segarena.users.stroke_model.candidates import draw_candidates
from segarena.users.stroke_model.drawing_surface import build_surface
from segarena.users.stroke_model.model import read_stroke_model
from segarena_people.fitting.cohesion_fit import SlicePair, fit_cohesion


def pairs(count, *, together):
    hand = read_stroke_model()
    habits = hand.habits_of("acdc-expert")
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:60, :60]
    surface = build_surface((rows - 30) ** 2 + (columns - 30) ** 2 <= 400)
    for _ in range(count):
        one, other = draw_candidates(surface, np.repeat(habits[None], 2, axis=0), hand, rng)
        yield SlicePair(surface, habits, one, np.concatenate(one if together else other))


@pytest.mark.long
def test_strokes_that_repeat_hang_together_and_strokes_that_do_not_do_not():
    hand = read_stroke_model()
    repeated = fit_cohesion(list(pairs(6, together=True)), hand, np.random.default_rng(1))
    unrelated = fit_cohesion(list(pairs(40, together=False)), hand, np.random.default_rng(1))
    assert repeated > 40
    assert unrelated < repeated / 2


def test_nothing_is_known_without_pairs():
    assert fit_cohesion([], read_stroke_model(), np.random.default_rng(0)) == pytest.approx(0)
