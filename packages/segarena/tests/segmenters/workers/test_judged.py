"""A worker in every benchmark, with the cache, in a forecast, and in the identity of a run."""

import shlex
import sys
from pathlib import Path

import pytest

from segarena import evaluate, forecast
from segarena.dialogue import Dialogue
from segarena.engine.rows import ENCODER_PASS_ROUND
from segarena.errors import RunConflict
from segarena.plugin_capabilities import pass_seconds
from segarena.prompts import Click
from segarena.registry import build
from segarena.reports.display_names import distinct_names
from segarena.segmenters.workers.synthetic_samples import synthetic_sample

pytestmark = pytest.mark.usefixtures("quick_workers")

HERE = Path(__file__).parent


def written(file="honest.py", *arguments, **options):
    command = shlex.join([sys.executable, str(HERE / file), *map(str, arguments)])
    return f"worker({command!r}, options={options!r})"


@pytest.mark.parametrize(
    ("benchmark", "dataset"),
    [
        ("clicks", "demo"),
        ("radioactive", "phantom(cases=1, shape=(40, 48, 48))"),
        ("davis", "demo-videos(size=(48, 48))"),
        ("toss", "oneshot-demo"),
    ],
)
def test_every_benchmark_takes_one(benchmark, dataset, tmp_path):
    run = evaluate(
        benchmark, segmenter=written(), dataset=dataset, limit=1, rounds=1, out=tmp_path / "run"
    )
    assert run.config.counts.rounds > 0
    assert run.config.counts.failures == 0


def test_encoder_passes_are_images(small_run):
    counts = small_run(written(), dataset="sample-squares(count=3)").config.counts
    assert (counts.encodes, counts.failures) == (3, 0)
    assert counts.rounds > 3


@pytest.mark.long
def test_where_the_network_sees_prompts_too_every_answer_is_a_pass(small_run, rules):
    run = small_run(written("moody.py", "Joint"), dataset="sample-squares(count=3)")
    counts = run.config.counts
    assert run.config.segmenter.encodes_with_prompts
    assert counts.encodes == counts.rounds > 3
    assert ENCODER_PASS_ROUND not in run.read("timings", ["round"])["round"].to_list()
    cost = forecast(
        rules, segmenter=written("moody.py", "Joint"), dataset="sample-squares(count=9)"
    )
    assert cost.encodes_with_prompts
    assert cost.encodes == cost.predictions > 9


@pytest.mark.long
def test_what_it_encoded_is_read_from_the_cache_by_the_next_run(small_run, tmp_path):
    given = {"dataset": "sample-squares(count=3)", "cache": tmp_path / "cache"}
    slow = written("moody.py", "Slow", seconds=0.05)
    first, second = (small_run(slow, out=tmp_path / name, **given) for name in ("first", "second"))
    counts = second.config.counts
    assert (first.config.counts.encodes, counts.encodes, counts.encodes_from_cache) == (3, 0, 3)
    assert first.records().equals(second.records())


@pytest.mark.long
def test_a_forecast_knows_the_memory_of_its_process(rules):
    segmenter = written("moody.py", "Large", megabytes=1000)
    cost = forecast(rules, segmenter=segmenter, dataset="sample-squares(count=2)", timed=1)
    assert 1000e6 < cost.process_bytes < 2000e6


def test_a_run_does_not_go_on_with_other_weights_or_another_version_of_the_adapter(
    small_run, tmp_path
):
    weights = tmp_path / "model.pth"
    weights.write_bytes(b"first")
    run = small_run(written(weights=str(weights)))
    identity = run.config.identity
    assert set(identity.sources) == {"honest.py"}
    assert identity.packages["python (elsewhere)"] == sys.version.split()[0]
    weights.write_bytes(b"other")
    with pytest.raises(RunConflict, match=r"changed since this run: model.pth"):
        small_run(written(weights=str(weights)))


def test_tables_call_a_worker_by_its_name(small_run, tmp_path):
    command = written()[: -len(", options={})")]
    runs = [
        small_run(f"{command}, name={name!r})", out=tmp_path / name)
        for name in ("RITM", "FocalClick")
    ]
    assert distinct_names([run.config.segmenter for run in runs]) == ["RITM", "FocalClick"]


def test_passes_on_the_way_and_frames_asked_for_come_through():
    worker = build("segmenter", written("moody.py", "OnTheWay"))
    encoded = worker.encode(synthetic_sample("video", (4, 10, 12), 0))
    assert pass_seconds(encoded) is not None
    assert len(encoded.pass_seconds) == 1
    dialogue = Dialogue().ask((Click((1, 2, 3)),))
    (answer,) = worker.predict(encoded, [dialogue])
    assert answer.candidates == (1, 3)
    assert answer.score == 0.5
    worker.client.end()
    worker.predict(encoded, [dialogue])
    assert len(encoded.pass_seconds) == 4  # those of the one that is gone were made, too
