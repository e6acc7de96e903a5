"""The ladder against a participant who submits the same method many times with noise; runs are made-up values."""

from dataclasses import replace

import numpy as np
import pytest

from segarena.records.configuration import DatasetRecord, PluginRecord
from segarena.reports.boards.extracts import Extract, TargetColumns
from segarena.roles import Statistic
from segarena_server.challenges.ladder_mechanism import is_step

SAMPLES, TRIES = 60, 60


def run_of(values, *, first=0, higher=True):
    """Return the extract of a run with a value for each sample."""
    names = tuple(f"s{first + number}" for number in range(len(values)))
    statistic = Statistic(name="S", kind="auc", higher_is_better=higher)
    nothing = ("",) * len(names)
    return Extract(
        rules={}, words=("round", "target", "sample"), decides="S", summary=(statistic,), definitions={},
        segmenter=PluginRecord(kind="segmenter", name="x", options={}), ignores_image=False, users=("u",), created="",
        dataset=DatasetRecord(kind="dataset", name="d", options={}, fingerprint="", samples=()), finished="",
        samples=len(names), done=len(names), failures={}, seconds={},
        targets=TargetColumns(sample=names, target=nothing, label=nothing, attributes=({},) * len(names)),
        values={"u": {"S": tuple(values)}},
    )  # fmt: skip


def attack(seed):
    """Return the best of many noisy runs of one model on a plain board and on a ladder, and the steps."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.4, 0.9, SAMPLES)
    tries = [truth + rng.normal(0, 0.1, SAMPLES) for _ in range(TRIES)]
    best, steps = run_of(tries[0]), 1
    for values in tries[1:]:
        run = run_of(values)
        if is_step(run, best):
            best, steps = run, steps + 1
    plain = max(float(values.mean()) for values in tries)
    return plain - truth.mean(), np.mean(best.values["u"]["S"]) - truth.mean(), steps


@pytest.mark.long
def test_who_tries_the_same_with_noise_many_times_seldom_moves():
    found = np.array([attack(seed) for seed in range(6)])
    plain, ladder, steps = found.mean(axis=0)
    one_run = 0.1 / np.sqrt(SAMPLES)
    assert plain > 1.8 * one_run
    assert steps < 4
    assert ladder < 0.7 * plain


@pytest.mark.parametrize("higher", [True, False])
def test_a_better_model_is_a_step_and_a_worse_one_is_none(higher):
    rng = np.random.default_rng(1)
    values = rng.uniform(0.4, 0.8, SAMPLES)
    gain = 0.03 if higher else -0.03
    base = run_of(values, higher=higher)
    better = run_of(values + gain + rng.normal(0, 0.05, SAMPLES), higher=higher)
    worse = run_of(values - gain + rng.normal(0, 0.05, SAMPLES), higher=higher)
    assert is_step(base, None)
    assert is_step(better, base)
    assert not is_step(worse, base)
    assert not is_step(base, base)


def test_runs_about_other_samples_are_compared_by_their_means():
    rng = np.random.default_rng(2)
    base = run_of(rng.uniform(0.4, 0.8, SAMPLES))
    assert not is_step(run_of(rng.uniform(0.42, 0.82, SAMPLES), first=SAMPLES), base)
    assert is_step(run_of(rng.uniform(0.6, 1.0, SAMPLES), first=SAMPLES), base)


def test_a_run_without_values_is_no_step():
    nothing = run_of([None] * 8)
    assert not is_step(nothing, None)
    assert is_step(run_of([0.5] * 8), nothing)


def test_what_is_missing_makes_no_step():
    rng = np.random.default_rng(4)
    values = rng.uniform(0.4, 0.8, SAMPLES)
    whole = run_of(values)
    lacking = [
        replace(run_of(values + 0.1), done=SAMPLES - 1),
        replace(run_of(values + 0.1), failures={"u": 1}),
    ]
    assert [is_step(run, whole) for run in lacking] == [False, False]
    assert [is_step(run, None) for run in lacking] == [True, True]
    assert [is_step(whole, run) for run in lacking] == [True, True]
