"""The benchmark toss: its options, its pairs in one lockstep, and the number of encoder passes."""

import json
import math

import numpy as np
import polars as pl
import pytest

import segarena
from segarena.errors import PluginInvalid
from segarena.registry import build
from segarena.systems.oneshot.scoring.pixel_counts import counts_from_records
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings
from segarena.systems.oneshot.scoring.tier_scores import gs, lca_hca, scs


class Oracle:
    """Answers with the target where the support shows something of the same class, else with nothing.

    Which class that is, only the dataset knows: it looks for a target that the support's image belongs to.
    """

    prompt_kinds = frozenset({"support"})

    def __init__(self, dataset):
        self.samples = {sample: dataset.load(sample) for sample in dataset.sample_ids}
        self.calls = []
        self.encoded = []

    def encode(self, sample):
        self.encoded.append(sample.image.tobytes())
        return sample

    def predict(self, encoded, dialogues):
        self.calls.append((encoded.id, len(dialogues)))
        return [self.answer(encoded, dialogue) for dialogue in dialogues]

    def answer(self, sample, dialogue):
        (support,) = dialogue.prompts
        label = support.sample.id.split("/")[0]
        targets = [
            t
            for t in self.samples[sample.id].targets
            if t.attributes["class"].split("/")[0] == label
        ]
        is_shown = support.mask.any() and targets
        return targets[0].mask if is_shown else np.zeros(sample.shape, dtype=bool)


@pytest.fixture(scope="module")
def oracle(tmp_path_factory):
    dataset = build("dataset", "oneshot-demo(fold=0)")
    segmenter = Oracle(dataset)
    run = segarena.evaluate(
        "toss", segmenter=segmenter, dataset=dataset, out=tmp_path_factory.mktemp("toss") / "run"
    )
    return dataset, segmenter, run


def test_one_example_is_shown_and_one_answer_given():
    rules = build("benchmark", "toss")
    assert [str(plugin) for plugin in (*rules.users, *rules.metrics)] == ["support", "iou", "void"]
    assert (rules.rounds, str(rules.dataset)) == (1, "oneshot-demo")
    assert rules.sample_kind == "image"
    defaults = ScoreSettings()
    assert rules.options == {
        "variant": defaults.variant, "aggregate": "accumulate", "void": "ignore", "empty_union": "clamp",
        "weights": "published", "order": "paper", "strict_published": False,
    }  # fmt: skip


def test_protocols_set_what_they_have_of_their_own_and_options_win():
    published = build("benchmark", "toss(protocol='published')").options
    assert (published["void"], published["empty_union"], published["strict_published"]) == (
        "script",
        "toss",
        True,
    )
    assert build("benchmark", "toss(protocol='paper')").options["variant"] == "paper"
    assert (
        build("benchmark", "toss(protocol='published', void='ignore')").options["void"] == "ignore"
    )
    assert build("benchmark", "toss(weights=(4, 1, 0, 0))").options["weights"] == [
        4.0,
        1.0,
        0.0,
        0.0,
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("toss(protocol='mine')", "protocol: expected one of 'careful', 'published' or 'paper'"),
        ("toss(variant='script')", "variant: expected one of 'published', 'paper'"),
        ("toss(void='grey')", "void: expected one of 'ignore', 'background', 'script'"),
        ("toss(aggregate='mean')", "aggregate: expected one of 'accumulate', 'per_pair'"),
        ("toss(empty_union=0)", "empty_union: expected one of"),
        ("toss(weights=(1, 2))", "a list of 4, each a number"),
        ("toss(weights='equal')", "a list of 4, each a number"),
    ],
)
def test_options_that_are_none_are_refused(text, expected):
    with pytest.raises(PluginInvalid, match=expected):
        build("benchmark", text)


@pytest.mark.long
def test_who_answers_rightly_has_full_marks_in_every_variant(oracle):
    counts = counts_from_records(oracle[2].records()).counts
    for variant in ("published", "paper"):
        settings = ScoreSettings(variant=variant, repeats=0)
        found = [*lca_hca(counts, settings), *scs(counts, settings)]
        assert [score.value for score in found] == pytest.approx([1.0] * len(found), abs=1e-12)


@pytest.mark.long
def test_far_classes_are_scored_too(tmp_path):
    run = segarena.evaluate(
        "toss",
        segmenter="everything",
        dataset="oneshot-demo(lists='generalization')",
        out=tmp_path / "run",
    )
    records = run.records()
    counts = counts_from_records(records).counts
    ious = records.with_columns(
        pl.col("attributes")
        .map_elements(lambda text: json.loads(text)["class"], pl.String)
        .alias("class")
    )
    expected = (
        ious.group_by("class")
        .agg(pl.col("target_area").sum() / pl.col("frame_px").sum())["target_area"]
        .mean()
    )
    assert math.isclose(gs(counts, ScoreSettings(repeats=0)).value, expected)


def test_pairs_of_a_query_are_answered_together_and_images_encoded_once(oracle):
    dataset, segmenter, run = oracle
    pairs = dataset.pairs
    queries = [*dict.fromkeys(pairs.select("query", "transform").iter_rows())]
    assert [name for name, _ in segmenter.calls] == list(dataset.sample_ids)
    assert len(segmenter.calls) == len(queries) == len(set(segmenter.calls))
    assert sum(count for _, count in segmenter.calls) == pairs.height
    shown = pairs.select("supports", "support_kind").explode("supports")
    images = {("" if kind == "empty" else image) for image, kind in shown.iter_rows()}
    assert len(segmenter.encoded) == len(queries) + len(images)
    timings = run.timings().filter(pl.col("round") == 0)
    assert timings.height == len(segmenter.encoded)
    assert timings.filter(pl.col("target") == "").height == len(queries)
