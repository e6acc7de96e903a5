"""A run in a challenge has the same records as the same run without a server, apart from seconds."""

from dataclasses import replace

import pytest
from msgspec import to_builtins as as_plain

import segarena
from segarena.records.prompts import read_prompts
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.evaluation_request import RunInfo
from segarena_server.challenges.rehearsal import Rehearsal

VIDEOS = "demo-videos(size=(60, 100), frames=5)"
RUNS = {
    "clicks": ("clicks(rounds=3)", "POOL", "watershed", 3),
    "several users": ("rclicks(groups=2, rounds=3)", "POOL", "watershed", 3),
    "labels of a video": ("davis(rounds=3)", VIDEOS, "colour-flow", 1),
    "silent users": (
        "davis(rounds=4, protocol='published', preset='server-2020')",
        VIDEOS,
        "colour-flow",
        1,
    ),
    "volumes by slices": ("radioactive", "phantom(cases=1, shape=(20, 48, 48))", "watershed", 1),
    "one example": ("toss", None, "superpixel-prototypes", 1),
}


def as_challenge(benchmark, dataset):
    return ChallengeDescription(
        slug="c",
        title="C",
        benchmark=benchmark,
        dataset=dataset,
        phases=(Phase(name="final", seed=11),),
    )


@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
def test_the_records_are_those_of_a_local_run(name, pool, tmp_path):
    benchmark, dataset, segmenter, limit = RUNS[name]
    dataset = pool if dataset == "POOL" else dataset
    local = segarena.evaluate(
        benchmark,
        segmenter=segmenter,
        dataset=dataset,
        seed=11,
        limit=limit,
        out=tmp_path / "local",
    )
    described = as_challenge(benchmark, str(local.config.dataset.spec))
    remote, places = Rehearsal(described, "final", segmenter).rehearse(
        local.samples, tmp_path / "remote"
    )
    assert len(places) == limit
    for table in ("records", "masks", "parts"):
        assert remote.read(table).equals(local.read(table)), table
    answers = local.timings().filter(local.timings()["round"] > 0)
    assert remote.timings().drop("predict_s").equals(answers.drop("predict_s"))
    nobody_saw = {"encodes": 0}
    assert {**as_plain(remote.config.counts), **nobody_saw} == {
        **as_plain(local.config.counts),
        **nobody_saw,
    }


REPLAYED = {
    "labels of a video": RUNS["labels of a video"],
    "volumes by slices": (
        "radioactive(prompts='3b-inter', refine=('scribble', 'lasso'), rounds=3)",
        *RUNS["volumes by slices"][1:],
    ),
    "one example": ("toss", "oneshot-demo", *RUNS["one example"][2:]),
}


def said(row):
    """Return a record with its prompts in a common form, in which 7 and 7.0 are equal."""
    return {**as_plain(row), "prompts": read_prompts(row.prompts)}


@pytest.mark.long
@pytest.mark.parametrize("name", REPLAYED)
def test_asked_again_a_segmenter_that_says_the_same_leaves_the_same(name):
    benchmark, dataset, segmenter, _ = REPLAYED[name]
    rehearsal = Rehearsal(as_challenge(benchmark, dataset), "final", segmenter)
    run = RunInfo(id="a", phase="final", name="a", samples=rehearsal.evaluator.samples("final")[:1])
    told, rows = rehearsal.rehearse_sample(run, 0)
    again, replayed = rehearsal.rehearse_sample(replace(run, id="b"), 0, tuple(told.given))
    assert list(map(said, replayed.records)) == list(map(said, rows.records))
    assert again.given == []
    assert max(judged.replayed for judged in again.judged) == max(
        judged.rounds for judged in told.judged
    )
