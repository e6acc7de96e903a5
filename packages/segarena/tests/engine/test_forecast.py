"""Forecast of a run: closed forms for the arithmetic, counts for the trial; nothing depends on real seconds."""

import tempfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from separate_files import write_separately

import segarena
from segarena import ImageSample, Target
from segarena.engine.forecast import _concurrent_samples, extrapolate
from segarena.engine.forecast_run import (
    MAX_COUNTING_S,
    TimedSample,
    count_targets,
    read_timed_sample,
)
from segarena.engine.forecast_subset import SampleWorkload, evenly_spaced, open_session_subset
from segarena.engine.lockstep_dialogues import load_sample
from segarena.engine.plan import make_plan
from segarena.engine.run_folder import RunFolder
from segarena.engine.sample_job import SampleResult
from segarena.errors import InvalidInput, SegarenaError
from segarena.work.cluster.executor import Ray
from segarena.work.executors import make_executor

pytestmark = pytest.mark.usefixtures("quick_workers")

# One second of encoding, then per round 0.2 s in the model of 0.3 s in all; 2 targets x 10 rounds.
TRIAL = TimedSample(
    targets=2,
    seconds=1 + 20 * 0.3,
    model_s=1 + 20 * 0.2,
    before_s=1.0,
    encodes=1,
    rounds=20,
    rounds_at_most=20,
    records_bytes=1000,
    masks_bytes=3000,
)
MACHINE = {"workers": 1, "concurrent": 1, "device": "cpu", "process_bytes": 10**9}


def test_equal_samples_cost_so_many_times_one():
    cost = extrapolate([TRIAL, TRIAL], samples=100, targets=2.0, failures=1, **MACHINE)
    assert (cost.samples, cost.timed, cost.targets, cost.failures) == (100, 2, 200, 1)
    assert (cost.encodes, cost.predictions, cost.predictions_at_most) == (100, 2000, 2000)
    assert (
        cost.hours
        == cost.hours_low
        == cost.hours_high
        == cost.hours_at_most
        == pytest.approx(700 / 3600)
    )
    assert (cost.records_bytes, cost.masks_bytes, cost.process_bytes) == (100_000, 300_000, 10**9)
    assert cost.gpu_hours is None


def test_twice_the_targets_are_twice_the_rounds_of_the_same_encodes():
    cost = extrapolate([TRIAL], samples=100, targets=4.0, **MACHINE)
    assert (cost.encodes, cost.predictions) == (100, 4000)
    assert cost.hours == pytest.approx(100 * (1 + 40 * 0.3) / 3600)
    assert (cost.records_bytes, cost.masks_bytes) == (200_000, 600_000)


def test_dialogues_that_ended_early_are_scaled_to_the_last_round_in_what_is_said_as_most():
    early = replace(TRIAL, rounds_at_most=40)
    cost = extrapolate([early], samples=10, targets=2.0, **MACHINE)
    assert (cost.predictions, cost.predictions_at_most) == (200, 400)
    assert cost.hours == pytest.approx(70 / 3600)
    assert cost.hours_at_most == pytest.approx(10 * (1 + 40 * 0.3) / 3600)


def test_the_range_is_of_samples_like_the_quickest_and_the_slowest_with_equal_targets():
    slow = replace(TRIAL, targets=1, seconds=1 + 20 * 0.6)
    cost = extrapolate([TRIAL, slow], samples=10, targets=2.0, **MACHINE)
    assert cost.hours_low == pytest.approx(10 * (1 + 20 * 0.3) / 3600)
    assert cost.hours_high == pytest.approx(10 * (1 + 40 * 0.6) / 3600)
    assert cost.hours == pytest.approx(10 * (1 + 18 * 4 / 3 / 2) / 3600)


@pytest.mark.parametrize(
    ("workers", "cores", "samples", "concurrent"),
    [(0, 8, 9, 1), (4, 8, 9, 4), (16, 8, 9, 8), (6, 8, 3, 3)],
)
def test_workers_divide_the_time_as_far_as_there_are_cores_and_samples(
    workers, cores, samples, concurrent, monkeypatch
):
    monkeypatch.setattr("segarena.work.cluster.executor.find_spec", lambda name: object())
    assert _concurrent_samples(make_executor(workers), samples, cores) == concurrent
    assert _concurrent_samples(Ray(max(1, workers)), samples, cores) == max(
        1, min(workers, samples)
    )  # other machines have others
    cost = extrapolate(
        [TRIAL], samples=samples, targets=2.0, **{**MACHINE, "concurrent": concurrent}
    )
    assert cost.hours == pytest.approx(7 * samples / concurrent / 3600)


def test_what_it_takes_to_start_is_paid_once_and_in_every_estimate():
    slow = replace(TRIAL, seconds=1 + 20 * 0.6, rounds_at_most=40)
    without, cost = (
        extrapolate([TRIAL, slow], samples=9, targets=2.0, **MACHINE, startup_s=s)
        for s in (0.0, 7.2)
    )
    for name in ("hours", "hours_low", "hours_high", "hours_at_most"):
        assert getattr(cost, name) == pytest.approx(getattr(without, name) + 0.002)


def test_workers_on_one_gpu_share_out_only_what_is_not_the_model():
    gpu = {**MACHINE, "device": "cuda"}
    hours = [
        extrapolate(
            [TRIAL], samples=100, targets=2.0, **{**gpu, "concurrent": concurrent}
        ).gpu_hours
        for concurrent in (1, 8)
    ]
    assert hours == [pytest.approx(700 / 3600), pytest.approx(500 / 3600)]


def test_workers_with_gpus_of_their_own_do_not_wait_for_each_other():
    gpu = {**MACHINE, "device": "cuda", "concurrent": 8, "gpus": 4.0}
    cost = extrapolate([TRIAL], samples=100, targets=2.0, **gpu)
    assert cost.hours == pytest.approx(
        125 / 3600
    )  # 500 s in the model on four, longer than 700 s of all by eight
    assert cost.gpu_hours == pytest.approx(500 / 3600)


def test_samples_without_targets_or_with_failures_only_cost_what_they_took():
    empty = replace(
        TRIAL, targets=0, seconds=0.5, model_s=0, before_s=0, encodes=0, rounds=0, rounds_at_most=0
    )
    cost = extrapolate([empty], samples=10, targets=0.0, **MACHINE)
    assert (cost.encodes, cost.predictions, cost.predictions_at_most) == (0, 0, 0)
    assert cost.hours == cost.hours_at_most == pytest.approx(5 / 3600)


@given(samples=st.integers(1, 500), wanted=st.integers(1, 20))
def test_tried_samples_are_distinct_in_order_and_no_stretch_is_left_out(samples, wanted):
    places = evenly_spaced(samples, wanted)
    assert len(places) == min(samples, wanted)
    assert places == sorted(set(places))
    gaps = np.diff([-places[0] - 1, *places, 2 * samples - 1 - places[-1]])
    assert places[-1] < samples
    assert gaps.max() - gaps.min() <= 2


class Crowded:
    """Sample n has n targets; loading takes a known time on `clock`; the third cannot be loaded."""

    def __init__(self, seconds=0.0):
        self.seconds, self.now, self.loaded = seconds, 0.0, 0

    def clock(self):
        return self.now

    def load(self, sample_id):
        self.now += self.seconds
        self.loaded += 1
        if sample_id == "3":
            raise OSError("cut off")
        mask = np.ones((2, 2), dtype=bool)
        targets = tuple(Target(id=str(number), mask=mask) for number in range(int(sample_id)))
        return ImageSample(id=sample_id, image=np.zeros((2, 2, 3), np.uint8), targets=targets)


def test_all_targets_are_counted_when_there_is_time():
    dataset = Crowded()
    assert count_targets(dataset, ["1", "2", "3", "4"], dataset.clock) == (1 + 2 + 0 + 4) / 4


def test_targets_are_counted_as_long_as_there_is_time():
    dataset = Crowded(seconds=MAX_COUNTING_S / 4)
    assert count_targets(dataset, ["5"] * 100, dataset.clock) == 5
    assert dataset.loaded == 4


def held(index, rounds_at_most, **opened):
    told = SampleWorkload(targets=1, rounds_at_most=rounds_at_most, **opened)
    return SampleResult(
        index=index, rounds=0, causes=(), encodes=1, seconds=9.0, peak_bytes=0, opened=told
    )


def test_of_what_was_held_in_part_loading_and_encoding_are_counted_once(small_run, monkeypatch):
    monkeypatch.setattr(RunFolder, "gather", lambda *_: None)
    folder = small_run()
    whole, part = (
        read_timed_sample(folder, held(1, 30, load_s=2.0, share=share)) for share in (1.0, 0.1)
    )
    assert (part.rounds, part.records_bytes) == (10 * whole.rounds, 10 * whole.records_bytes)
    assert (part.encodes, part.rounds_at_most, part.targets) == (1, 30, 1)
    assert part.seconds - 2 - part.before_s == pytest.approx(10 * (9 - 2 - whole.before_s))


@pytest.mark.parametrize(
    ("part", "sessions", "rounds"),
    [(1.0, 12, 3), (0.5, 6, 3), (0.1, 1, 3), (0.05, 1, 2), (0.0, 1, 2)],
)
def test_a_part_has_some_dialogues_and_of_a_single_one_some_rounds(
    rules, plugin, part, sessions, rounds
):
    users = ["sample-first-pixel", plugin("RandomUser")]
    options = {"dataset": "sample-squares(count=1)", "users": users, "repeats": 6}
    cast = make_plan(rules, segmenter=plugin("Good"), **options).cast()
    kept, opened = open_session_subset(cast, load_sample(cast.dataset, "square-0"), part)
    assert (len(kept), {session.rules.rounds for session in kept}) == (sessions, {rounds})
    assert (opened.targets, opened.rounds_at_most, opened.share) == (1, 36, sessions * rounds / 36)


def test_what_a_sample_left_is_read_from_its_files(small_run, plugin, monkeypatch):
    monkeypatch.setattr(RunFolder, "gather", lambda *_: None)
    folder = small_run(users=["sample-first-pixel", plugin("RandomUser")], repeats=2)
    trial = read_timed_sample(folder, held(1, 12))
    timings = folder.timings().filter(folder.timings()["sample"] == "square-1")["predict_s"]
    assert (trial.targets, trial.seconds, trial.encodes) == (1, 9.0, 1)
    assert trial.rounds == trial.rounds_at_most == 2 * 2 * 3
    assert trial.before_s == timings[0]
    assert trial.model_s == pytest.approx(timings.sum())
    write_separately(folder, 1)
    sizes = [
        (folder.path / table / "000001.parquet").stat().st_size
        for table in ("records", "timings", "masks")
    ]
    assert (trial.records_bytes, trial.masks_bytes) == (sizes[0] + sizes[1], sizes[2])


def test_reading_from_the_cache_is_neither_a_pass_nor_time_in_the_model(small_run, monkeypatch):
    monkeypatch.setattr(RunFolder, "gather", lambda *_: None)
    folder = small_run()
    timings = folder.timings()
    seconds = timings.filter(timings["sample"] == "square-0")["predict_s"]
    own = timings.filter(timings["sample"] == "square-0")
    write_separately(folder, 0, timings=own.with_columns(round=own["round"].replace({0: -1})))
    trial = read_timed_sample(folder, held(0, 3))
    assert (trial.encodes, trial.before_s) == (0, seconds[0])
    assert trial.model_s == pytest.approx(seconds[1:].sum())


@pytest.fixture
def cost_of(rules, plugin):
    def forecast(segmenter=None, **options):
        options = {"dataset": "sample-squares(count=9)", "share": 1e9, **options}
        return segarena.forecast(rules, segmenter=segmenter or plugin("Good"), **options)

    return forecast


def test_a_forecast_counts_what_the_run_then_does(cost_of, small_run, plugin):
    options = {
        "dataset": "sample-squares(count=9)",
        "users": ["sample-first-pixel", plugin("RandomUser")],
        "repeats": 2,
    }
    seen = []
    cost = cost_of(timed=2, workers=3, on_sample=lambda *state: seen.append(state), **options)
    counts = small_run(**options).config.counts
    assert (cost.samples, cost.targets, cost.encodes, cost.predictions) == tuple(
        getattr(counts, name) for name in ("samples", "targets", "encodes", "rounds")
    )
    assert cost.predictions_at_most == 9 * 2 * 2 * 3
    assert (cost.timed, cost.workers, cost.device, cost.gpu_hours, cost.failures) == (
        2,
        3,
        "cpu",
        None,
        0,
    )
    assert 0 < cost.hours_low <= cost.hours <= cost.hours_high
    assert cost.process_bytes > 10**7
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_the_trial_leaves_nothing_behind(cost_of, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    cost_of(timed=1)
    assert list(tmp_path.iterdir()) == []


def test_fewer_samples_than_wanted_are_all_timed_but_the_first(cost_of):
    assert [cost_of(limit=limit, timed=3).timed for limit in (1, 2)] == [1, 1]


def test_one_sample_is_tried_whatever_the_forecast_is_worth(cost_of):
    seen = []
    cost = cost_of(share=0.0, on_sample=lambda *state: seen.append(state))
    assert (cost.timed, cost.targets, seen) == (1, 9, [(1, 4)])
    assert 0 < cost.startup_s < 3600 * cost.hours


def test_failures_are_counted_and_only_failures_are_an_error(cost_of, plugin):
    assert cost_of(plugin("At", how={"square-4": "raises"}), limit=5, timed=5).failures == 1
    with pytest.raises(
        SegarenaError,
        match="none of 4 tried samples could be used; the first failure: encode: TypeError",
    ):
        cost_of(plugin("EncodesNothing"))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"workers": -1}, "workers must be 0 or more"),
        ({"timed": 0}, "timed samples must be at least 1"),
    ],
)
def test_impossible_numbers_are_refused(cost_of, options, why):
    with pytest.raises(InvalidInput, match=why):
        cost_of(**options)
