"""A person's seconds in reports, compared with seconds computed by hand for the prompts of a real run."""

from __future__ import annotations

import math

import numpy as np
import pytest

import segarena
from segarena.prompts import Click
from segarena.reports.human_time import human_time_parts, human_time_sheet, predict_seconds
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.reports.report import report_html
from segarena.users.habits.prompt_time import PromptTimeModel

ROUNDS = 2


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = segarena.evaluate(
        "clicks",
        segmenter="image-blind",
        dataset="demo",
        users=["centre", "boxes=box-drawer(people=2)"],
        limit=2,
        rounds=ROUNDS,
        out=tmp_path_factory.mktemp("pace") / "run",
    )
    (found,) = read_runs([folder.path])
    return found


@pytest.mark.long
def test_seconds_are_those_of_the_prompts_in_the_records(run):
    pace = PromptTimeModel()
    found = predict_seconds(run, "centre", pace)
    shapes = {row["sample"]: row["shape"] for row in run.folder.read("masks").iter_rows(named=True)}
    for row, dialogue in enumerate(found.dialogues):
        expected = pace.until(dialogue.prompts, math.hypot(*shapes[dialogue.sample]))
        assert np.exp(found.centres[row, : dialogue.rounds]).tolist() == pytest.approx(
            [s.median for s in expected]
        )
        assert found.spreads[row, : dialogue.rounds].tolist() == pytest.approx(
            [s.spread for s in expected]
        )
        assert np.isinf(found.centres[row, dialogue.rounds :]).all()


def test_the_value_at_a_moment_is_what_draws_of_people_give(run):
    found = predict_seconds(run, "centre", PromptTimeModel())
    rng = np.random.default_rng(0)
    dialogue = found.dialogues[0]
    # All rounds of a dialogue are late, or early, together: one draw moves them all.
    late = rng.standard_normal(20_000)[:, None]
    ends = np.exp(found.centres[0, : dialogue.rounds] + found.spreads[0, : dialogue.rounds] * late)
    for moment in (2.0, 4.0, 8.0):
        given = (ends <= moment).sum(axis=1)
        values = np.concatenate([[0.0], found.values[0, : dialogue.rounds]])[given]
        assert found.values_at(np.array([moment]))[0, 0] == pytest.approx(values.mean(), abs=0.02)


def test_long_after_the_end_the_value_is_the_last_one(run):
    found = predict_seconds(run, "boxes", PromptTimeModel())
    ends = [dialogue.values_of("iou")[-1] for dialogue in found.dialogues]
    assert found.values_at(np.array([1e9]))[:, 0].tolist() == pytest.approx(ends)


def test_a_box_takes_longer_than_a_click_and_a_drag_longer_than_extreme_clicks(run):
    def per_round(user, pace):
        (row,) = (row for row in human_time_sheet([run], pace).rows if row[0] == user)
        return row[3].mean

    assert per_round("boxes", PromptTimeModel()) > per_round("centre", PromptTimeModel())
    assert per_round("boxes", PromptTimeModel(boxes="drag")) > per_round("boxes", PromptTimeModel())


def test_the_range_is_that_of_people_and_prompts(run):
    (row, _) = human_time_sheet([run], PromptTimeModel()).rows
    assert row[3].low < row[3].mean < row[3].high
    assert row[4].mean > row[3].mean  # a dialogue takes longer than a round
    assert "to" in row[3].bounds


def test_the_report_shows_quality_against_seconds_beside_quality_against_prompts(run):
    own = page_of([run])
    html = report_html(own)
    assert "against clicks" in html or "against rounds" in html
    assert "IoU against human time" in html
    assert "MacKenzie" not in html  # sources are told in short
    assert "published figures" in html


def test_the_pace_of_a_page_can_be_set(run):
    own = page_of([run])
    own.pace = PromptTimeModel.read(pointer="touch", boxes="drag")
    (note,) = (part for part in human_time_parts(own) if "Predicted" in getattr(part, "text", ""))
    assert "a finger" in note.text
    assert "drag from corner" in note.text


def test_without_masks_the_prompts_tell_how_large_a_picture_is(make_run, make_ramps):
    (bare,) = read_runs([make_run(make_ramps(), "bare")])
    found = predict_seconds(bare, "centre", PromptTimeModel())
    assert isinstance(found.dialogues[0].prompts[0][0], Click)
    assert np.isfinite(found.round_centres).all()
