"""A rehearsal shows an organiser what participants will see."""

import re

import numpy as np
import pytest

from segarena.errors import PluginInvalid, UnknownPlugin
from segarena_server.challenges.rehearsal import Rehearsal, default_segmenter
from segarena_server.challenges.score_visibility import folder_scores


def test_a_rehearsal_leaves_a_run_and_tells_what_travelled(challenge, tmp_path):
    described = challenge("clicks(rounds=3)", decimals=1)
    run, places = Rehearsal(described, "final", "watershed").rehearse(
        ["p1", "p4"], tmp_path / "run"
    )
    assert run.is_complete
    assert [place.sample for place in places] == ["p1", "p4"]
    for place in places:
        assert place.turns == 1 + max(judged.rounds for judged in place.judged)
        assert place.sample_bytes > 48 * 64 * 3
        assert 0 < place.bytes_up < 5000
        assert 0 < place.bytes_down < 5000
        assert 0 < place.leaks["object"].iou < 1
        assert place.leaks["object"].prompts == sum(judged.rounds > 0 for judged in place.judged)
    assert all(
        score.mean is None or score.mean == round(score.mean, 1)
        for score in folder_scores(run.path, described.phases[0])
    )


@pytest.mark.long
def test_a_rehearsal_that_was_ended_goes_on(challenge, tmp_path):
    rehearsal = Rehearsal(challenge("clicks(rounds=2)"), "final", "watershed")
    whole, _ = Rehearsal(challenge("clicks(rounds=2)"), "final", "watershed").rehearse(
        ["p1", "p4"], tmp_path / "whole"
    )
    rehearsal.rehearse(["p1", "p4"], tmp_path / "run")
    with (run := rehearsal.rehearse(["p1", "p4"], tmp_path / "run")[0]).lock():
        run.discard([1])
    again, places = rehearsal.rehearse(["p1", "p4"], tmp_path / "run")
    assert [place.sample for place in places] == ["p4"]
    assert again.records().equals(whole.records())


class Broken:
    def encode(self, sample):
        raise MemoryError("too large")

    def predict(self, encoded, dialogues):
        return []


def test_what_a_participant_cannot_do_is_on_the_records(challenge, tmp_path):
    run, places = Rehearsal(challenge(), "final", Broken()).rehearse(["p1"], tmp_path / "run")
    (failure,) = run.records()["failure"]
    assert re.fullmatch(
        r"encode: MemoryError: too large \(test_rehearsal\.py, line \d+, in encode\)", failure
    )
    assert [judged.failure for judged in places[0].judged if judged.is_over] == [failure]


class WrongShape(Broken):
    def encode(self, sample):
        return None

    def predict(self, encoded, dialogues):
        return [np.zeros((3, 3), bool)] * len(dialogues)


def test_a_mask_that_does_not_fit_fails_before_it_is_sent(challenge, tmp_path):
    run, _ = Rehearsal(challenge(), "final", WrongShape()).rehearse(["p1"], tmp_path / "run")
    assert "expected a mask of shape (48, 64), got (3, 3)" in run.records()["failure"][0]


def test_who_does_not_fit_is_told_before_anything_runs(challenge):
    with pytest.raises(UnknownPlugin):
        Rehearsal(challenge(), "final", "no-such-model")
    with pytest.raises(PluginInvalid):
        Rehearsal(challenge(), "final", "superpixel-prototypes")


@pytest.mark.parametrize(
    ("benchmark", "segmenter"),
    [
        ("clicks", "graph"),
        ("davis", "colour-flow"),
        ("radioactive", "random-walker"),
        ("toss", "superpixel-prototypes"),
        ("no-such-benchmark", "graph"),
    ],
)
def test_the_default_segmenter_accepts_the_samples_of_the_benchmark(
    challenge, benchmark, segmenter
):
    assert default_segmenter(challenge(benchmark)) == segmenter
