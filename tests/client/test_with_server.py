"""Participants against the real server: the run there is the run that has the truth."""

import sys
from pathlib import Path

import pytest

import segarena
from segarena.client.taking_part import standing

sys.path.insert(0, str(Path(__file__).parent))
from real import SEED, at_work, describe, lay

KEYS = ["sample", "target", "user", "repeat", "round"]
CASES = {
    "clicks": ("clicks(rounds=3)", "sample-squares(count=3)", "watershed"),
    "video": ("davis(rounds=2)", "demo-videos(size=(60, 100), frames=8)", "colour-flow"),
    "volume": ("cvpr2025(box=False)", "phantom(cases=1, shape=(20, 48, 48))", "watershed"),
    "one-shot": ("toss", "oneshot-demo(fold=0)", "copy-support-mask"),
}


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    """The server with a challenge of every kind; gives its site, the participant's token and the address."""
    challenges = [
        describe(slug, benchmark, dataset, samples_per_run=3) for slug, (benchmark, dataset, _) in CASES.items()
    ]
    site, token = lay(tmp_path_factory.mktemp("arena") / "data", *challenges)
    with at_work(site) as address:
        yield site, token, address
    site.database.close()


@pytest.mark.parametrize("slug", CASES)
def test_the_run_at_the_server_is_the_run_that_has_the_truth(arena, tmp_path, slug, monkeypatch):
    site, token, address = arena
    monkeypatch.setenv("SEGARENA_TOKEN", token)
    benchmark, dataset, segmenter = CASES[slug]
    folder = segarena.evaluate(challenge=f"{address}/challenges/{slug}", segmenter=segmenter, out=tmp_path / "mine")
    begun, told = standing(tmp_path / "mine")
    there = segarena.RunFolder.open(site.folder.runs / begun.run)
    here = segarena.evaluate(benchmark, dataset=dataset, segmenter=segmenter, seed=SEED, out=tmp_path / "here")
    drawn = here.records().filter(here.records()["sample"].is_in(there.records()["sample"].unique().to_list()))
    assert there.records().sort(KEYS).equals(drawn.sort(KEYS))
    assert there.is_complete
    assert there.config.counts is not None
    assert folder.records().height == there.records().height > 0
    assert told["state"] == "over"
