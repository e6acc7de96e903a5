from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from segarena.errors import InvalidInput
from segarena.prompts import Box, Click
from segarena.users.habits.prompt_time import PromptTimeModel
from segarena.users.habits.time_habits import LogNormalSeconds
from segarena_people.measures.time_calibration import (
    TimeCalibration,
    calibrate_times,
    ks_uniform,
    predict_seconds,
)
from segarena_people.prompts import PersonPrompt, PointerSample

HABITS = PromptTimeModel().habits


def given(kind, places, *, seconds=3.0, pointer="touch", round_=1, strokes=None):
    points = tuple(
        PointerSample(
            stroke=(strokes or [0] * len(places))[k],
            x=x,
            y=y,
            time_ms=1000 * seconds * (k + 1) / len(places),
        )
        for k, (x, y) in enumerate(places)
    )
    return PersonPrompt(
        id="1", study="s", dataset="d", sample="s", target="t", width=300, height=400, kind=kind, pointer=pointer,
        round=round_, points=points,
    )  # fmt: skip


def test_a_prompt_is_predicted_for_the_device_it_was_given_with():
    expected = PromptTimeModel.read(pointer="touch").until([[Click((20, 10))]], 500.0)[0]
    assert predict_seconds(given("click", [(10.5, 20.5)]), HABITS) == expected
    assert (
        predict_seconds(given("click", [(10.5, 20.5)], pointer="keyboard"), HABITS)
        == PromptTimeModel().until([[Click((20, 10))]], 500.0)[0]
    )


def test_a_correction_is_predicted_as_one():
    first, later = (
        predict_seconds(given("click", [(10, 20)], round_=k), HABITS).median for k in (1, 2)
    )
    assert later < first


def test_a_box_of_one_stroke_was_dragged():
    drag = PromptTimeModel.read(pointer="touch", boxes="drag").until(
        [[Box((20, 10), (91, 61))]], 500.0
    )[0]
    assert predict_seconds(given("box", [(10, 20), (60, 90)]), HABITS) == drag


def test_shares_and_medians_are_those_of_each_prompt():
    prompts = [given("click", [(10, 20)], seconds=s) for s in (0.5, 2.0, 9.0)]
    found = calibrate_times(prompts, HABITS)
    one = predict_seconds(prompts[0], HABITS)
    assert found.seconds.tolist() == [0.5, 2.0, 9.0]
    assert found.shares.tolist() == [one.share(0.5), one.share(2.0), one.share(9.0)]
    assert found.median_s == 2.0
    assert found.predicted_s == pytest.approx(one.median)


def test_the_histogram_counts_shares():
    one = LogNormalSeconds(2.0, 0.5)
    found = TimeCalibration(
        np.array([one.quantile(share) for share in (0.05, 0.45, 0.55, 0.99)]), [one] * 4
    )
    assert found.histogram(2).tolist() == [0.5, 0.5]


def test_nothing_timed_has_no_median():
    assert math.isnan(calibrate_times([], HABITS).median_s)


def test_the_distance_from_uniform_is_that_of_its_definition():
    shares = np.random.default_rng(0).random(200) ** 1.3
    ordered = np.sort(shares)
    expected = max(
        (np.arange(1, 201) / 200 - ordered).max(), (ordered - np.arange(200) / 200).max()
    )
    distance, p_value = ks_uniform(shares)
    assert distance == pytest.approx(expected)
    assert p_value == pytest.approx(stats.kstwo.sf(expected, 200))


@pytest.mark.parametrize("shares", [[], [0.5, 1.2], [math.nan]])
def test_what_are_no_shares_is_refused(shares):
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        ks_uniform(shares)
