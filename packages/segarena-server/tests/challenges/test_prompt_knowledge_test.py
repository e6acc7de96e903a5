"""The test for knowledge: closed forms of its p-value, and runs with and without knowledge of other runs' prompts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.prompts import Box, Click, Scribble
from segarena.samples import Target
from segarena_server.challenges.prompt_knowledge_test import (
    Answer,
    DialogueExcess,
    Excess,
    correct_over_runs,
    excess_of_dialogue,
    measure_knowledge,
)

SHAPE = (80, 100)
ROWS, COLUMNS = np.indices(SHAPE)
DISC = np.hypot(ROWS - 40, COLUMNS - 50) < 25
TARGET = Target(id="t", mask=DISC)
FIRST = Click((40, 50))
REMEMBERED = [
    [[Click((25, 50))], [Click((55, 50))], [Click((40, 35))], [Click((40, 65))]],
    [[Click((10, 20), is_positive=False)], [Click((70, 80), is_positive=False)]],
]


def half_wrong(*, right_at=()):
    """Return a mask that is wrong in every second column of four, and right around some points."""
    mask = DISC ^ (COLUMNS % 8 < 4)
    for row, column in right_at:
        near = np.maximum(abs(ROWS - row), abs(COLUMNS - column)) <= 2
        mask = np.where(near, DISC, mask)
    return mask


def excess_of(mask, others=REMEMBERED, target=TARGET, received=(FIRST,)):
    return excess_of_dialogue(target, [Answer(received=received, predicted=mask)], others, 0)


def points_of(others):
    return [click.position for rounds in others for prompts in rounds for click in prompts]


def test_being_right_only_where_others_were_prompted_is_seen():
    found = excess_of(half_wrong(right_at=points_of(REMEMBERED)))
    assert found.every.points == 6
    assert found.every.mean == pytest.approx(0.5, abs=0.15)
    assert found.early.points == 5
    assert found.early.mean == pytest.approx(0.5, abs=0.15)


@pytest.mark.long
def test_errors_that_do_not_depend_on_others_prompts_are_no_knowledge():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(40):
        mask = DISC ^ (rng.random(SHAPE) < 0.3)
        found.append(excess_of(mask).every.mean)
    assert np.mean(found) == pytest.approx(0, abs=3 * np.std(found) / np.sqrt(len(found)))


def test_a_perfect_and_an_inverted_mask_show_nothing():
    assert excess_of(DISC).every.mean == 0.0
    assert excess_of(~DISC).every.mean == 0.0


def test_points_that_the_run_was_given_itself_do_not_count():
    received = [click for rounds in REMEMBERED for prompts in rounds for click in prompts]
    mask = half_wrong(right_at=points_of(REMEMBERED))
    assert excess_of(mask, received=received) == DialogueExcess(early=None, every=None)


def test_boxes_no_prompts_and_uniform_truth_have_no_points():
    nothing = DialogueExcess(early=None, every=None)
    assert excess_of(DISC, others=[[[Box((15, 25), (65, 75))]]]) == nothing
    assert excess_of(DISC, others=[]) == nothing
    empty = Target(id="t", mask=np.zeros(SHAPE, bool))
    assert excess_of(np.zeros(SHAPE, bool), target=empty) == nothing


def test_ignored_points_do_not_count():
    ignore = np.zeros(SHAPE, bool)
    ignore[:, :50] = True
    found = excess_of(half_wrong(), target=Target(id="t", mask=DISC, ignore=ignore))
    assert found.every.points == 4  # (40, 35) and (10, 20) are ignored


def test_a_scribble_is_thinned_to_points():
    line = Scribble(((28.0, 40.0), (28.0, 60.0)))
    found = excess_of(half_wrong(), others=[[[line]]])
    assert found.every.points == 5


def test_frames_and_slices_are_compared_on_their_own():
    planes = np.stack([DISC, np.zeros(SHAPE, bool), DISC])
    target = Target(id="t", mask=planes)
    mask = planes.copy()
    mask[2] = half_wrong(right_at=[(25, 50)])
    others = [[[Click((2, 25, 50))]]]
    answers = [Answer(received=[Click((0, 40, 50))], predicted=mask)]
    found = excess_of_dialogue(target, answers, others, 0)
    assert found.every.points == 1
    assert found.every.mean > 0.2


def dialogues(*means):
    return {
        str(number): [DialogueExcess(early=None, every=Excess(mean=mean, points=2))]
        for number, mean in enumerate(means)
    }


@pytest.mark.parametrize("samples", [1, 3, 6, 10])
def test_the_smallest_p_is_that_of_all_signs(samples):
    found = measure_knowledge(dialogues(*([0.3] * samples)))
    assert found.p == pytest.approx(min(1.0, 2 * 2.0**-samples), rel=0.35)
    assert found.samples == samples
    assert found.points == 2 * samples
    assert found.excess == pytest.approx(0.3)


def test_a_run_that_is_wrong_where_others_were_prompted_is_not_suspect():
    assert measure_knowledge(dialogues(-0.2, -0.1, -0.3, -0.2)).p == 1.0
    assert measure_knowledge({}).p == 1.0
    assert measure_knowledge(dialogues(0.0, 0.0)).p == 1.0


@pytest.mark.long
def test_without_knowledge_p_is_uniform_or_larger():
    rng = np.random.default_rng(1)
    p_values = [measure_knowledge(dialogues(*rng.normal(0, 0.1, 12))).p for _ in range(300)]
    assert np.mean(np.asarray(p_values) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_by_its_definition(p_values):
    found = correct_over_runs(p_values)
    for p, corrected in zip(p_values, found, strict=True):
        candidates = [
            min(1.0, sum(other >= smaller for other in p_values) * smaller)
            for smaller in p_values
            if smaller <= p
        ]
        assert corrected == pytest.approx(max(candidates))
