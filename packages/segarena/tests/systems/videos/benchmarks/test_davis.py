import numpy as np
import polars as pl
import pytest

import segarena
from segarena.engine.plan import make_plan
from segarena.errors import InvalidInput, PluginInvalid
from segarena.registry import build
from segarena.roles import TimeBudget
from segarena.systems.videos.benchmarks.davis import robot_text


class Oracle:
    """Answers with the target, moved further to the right in early rounds."""

    sample_kinds = frozenset({"video"})
    prompt_kinds = frozenset({"scribble"})

    def __init__(self, dataset):
        self.dataset = dataset

    def encode(self, sample):
        return self.dataset.load(sample.id).targets[0].mask

    def predict(self, encoded, dialogues):
        return [np.roll(encoded, 6 - 2 * len(dialogue.rounds), axis=2) for dialogue in dialogues]


def test_the_challenge_is_eight_interactions_and_240_seconds_for_each_object():
    rules = build("benchmark", "davis")
    assert rules.rounds == 8
    assert rules.budget == TimeBudget(seconds_per_object=240.0, counts_judging=False)
    assert rules.sample_kind == "video"
    assert rules.options == {
        "preset": "local-1.0.4",
        "metric": "J_AND_F",
        "seconds_per_object": 240.0,
        "counts_judging": False,
    }


def test_published_rules_reach_robot_metric_and_clock():
    rules = build("benchmark", "davis(protocol='published', preset='server-2020', metric='J')")
    assert rules.budget.counts_judging
    cast = make_plan(rules, segmenter=None).cast()
    robot = cast.users["robot"]
    assert (robot.settings.mode, robot.settings.kernel_size, robot.settings.ties) == (
        "published",
        0.10,
        "permutation",
    )
    assert rules.users[0].options["judge"] == "jaccard"
    assert rules.metrics[0].options == {"void": "background"}
    unpunished = build("benchmark", "davis(protocol='published', counts_judging=False)")
    assert not unpunished.budget.counts_judging


def test_numbers_of_the_robot_replace_those_of_its_preset():
    rules = build("benchmark", "davis(kernel_size=0.3, min_nodes=9, preset='server-2020')")
    settings = make_plan(rules, segmenter=None).cast().users["robot"].settings
    assert (
        settings.kernel_size,
        settings.min_nodes,
        settings.max_radius_px,
        settings.max_points,
    ) == (0.3, 9, 16, 1000)
    assert robot_text(rules.options) == "server-2020, kernel_size 0.3, min_nodes 9"
    with pytest.raises(InvalidInput, match="kernel_size: expected at least 0 and below 1, got 1"):
        make_plan(build("benchmark", "davis(kernel_size=1)"), segmenter=None).cast()


def test_options_that_are_none_are_refused():
    for text, expected in (
        ("davis(metric='IoU')", "metric: expected one of 'J', 'F', 'J_AND_F'"),
        ("davis(protocol='mine')", "protocol: expected one of 'careful', 'published'"),
        ("davis(seconds_per_object=0)", "more than 0, or None"),
        ("davis(seconds_per_object=None, rounds=None)", "at least one of them"),
    ):
        with pytest.raises((InvalidInput, PluginInvalid), match=expected):
            build("benchmark", text)
    with pytest.raises(PluginInvalid, match="preset"):
        build("benchmark", "davis(preset='mine')")
    assert build("benchmark", "davis(seconds_per_object=None)").budget is None


def test_a_run_has_values_for_each_object_and_frame(tmp_path):
    dataset = build("dataset", "demo-videos(size=(48, 64), frames=4)")
    run = segarena.evaluate(
        "davis", segmenter=Oracle(dataset), dataset=dataset, rounds=3, limit=2, out=tmp_path / "run"
    )
    records = run.records()
    assert records["round"].to_list() == [1, 2, 3] * 2
    assert records.filter(round=3)["j_and_f"].to_list() == [1.0, 1.0]
    assert records.filter(round=1)["j_and_f"].max() < 1
    for sample in run.samples:
        objects = dataset.load(sample).targets[0].objects
        parts = run.parts().filter(pl.col("sample") == sample, pl.col("round") == 1)
        assert parts.height == objects * 4
        mean = records.filter(sample=sample, round=1)["jaccard"].item()
        assert parts["jaccard"].mean() == pytest.approx(mean)
