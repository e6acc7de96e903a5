"""A submitted run folder is evaluated from its masks and prompts; its values are ignored."""

import polars as pl
import pytest

import segarena
from segarena.engine.plan import time_limit_of
from segarena.engine.run_folder import RunFolder
from segarena.records.parquet_tables import table_frame
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.run_plan import participant_plan
from segarena_server.challenges.submissions.runs import SubmittedRun, run_faults

ROUNDS = 3
SAMPLES = ("p0", "p1")


@pytest.fixture
def practice(challenge):
    return challenge(
        f"clicks(rounds={ROUNDS})", kind="practice", takes=("run",), seed=5, samples_per_run=2
    )


@pytest.fixture
def held(practice, pool, tmp_path):
    """A run that a participant made."""

    def hold(**options):
        how = {
            "dataset": pool,
            "seed": 5,
            "rounds": ROUNDS,
            "keep_rounds": (1, 2, 3),
            "limit": 2,
            **options,
        }
        return segarena.evaluate("clicks", segmenter="watershed", out=tmp_path / "held", **how)

    return hold


def judge(practice, path, sample):
    plan, cast = Evaluator(practice).cast("final")
    return SubmittedRun(path).rejudge(sample, cast, time_limit_of(plan))


def look(practice, path):
    return run_faults(path, participant_plan(practice, practice.phases[0]), SAMPLES)


def test_the_same_values_come_out_of_the_masks_alone(practice, held):
    run = held()
    assert look(practice, run.path) == []
    for number, sample in enumerate(SAMPLES):
        again = judge(practice, run.path, sample)
        assert again.faults == ()
        expected = run.read("records", only={number})
        assert table_frame("records", again.rows.records).equals(expected)


OTHER = {
    "seed": ({"seed": 6}, "seed: expected 5, got 6"),
    "rounds": ({"rounds": 2}, "rounds: expected 3, got 2"),
    "masks": ({"keep_rounds": ()}, "expected masks of all rounds"),
    "samples": ({"limit": 1}, "missing samples: 1 of 2, such as p1"),
    "users": ({"users": ["uniform"]}, "users: expected"),
}


@pytest.mark.parametrize("case", OTHER)
def test_a_run_by_other_rules_is_refused(case, practice, held):
    options, told = OTHER[case]
    (fault,) = [each for each in look(practice, held(**options).path) if told in each]
    assert fault


def test_prompts_that_nobody_would_give_are_found(practice, held, monkeypatch):
    run = held()
    moved = run.read("records", only={0}).with_columns(
        prompts=pl.when(pl.col("round") == 1).then(pl.lit("[]")).otherwise(pl.col("prompts"))
    )
    real = RunFolder.read
    monkeypatch.setattr(
        RunFolder,
        "read",
        lambda self, table, *rest, **how: (
            moved if table == "records" else real(self, table, *rest, **how)
        ),
    )
    again = judge(practice, run.path, "p0")
    assert "round 1: its prompts differ from those of this server" in again.faults[0]


def test_what_is_no_run_is_said_without_a_path_of_ours(practice, tmp_path):
    (fault,) = look(practice, tmp_path)
    assert str(tmp_path) not in fault
    assert "run.json" in fault
