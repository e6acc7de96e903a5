"""Whole runs: errors of segmenters, users and data become records, and the run continues."""

import hashlib
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import segarena
from segarena.errors import (
    InvalidInput,
    PluginInvalid,
    RunConflict,
    UnitFailed,
    UnknownPlugin,
    WorkError,
)
from segarena.reports.boards import extract_of

pytestmark = pytest.mark.usefixtures("quick_workers")


def digest(folder, table="records"):
    files = sorted((folder.path / table).glob("*.parquet"))
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]


def failures(folder):
    return folder.records().filter(pl.col("failure").is_not_null())


def test_a_run_leaves_one_record_per_round(small_run):
    folder = small_run()
    records = folder.records()
    assert records.height == 4 * 3
    assert folder.is_complete
    assert records["round"].to_list() == [1, 2, 3] * 4
    assert (records["iou"] == records["intersection"] / records["union"]).all()
    assert folder.config.counts.failures == 0


def test_one_encoder_pass_per_sample_whatever_users_targets_and_rounds(small_run, plugin):
    folder = small_run(users=["sample-first-pixel", plugin("RandomUser")], repeats=3, rounds=5)
    assert folder.config.counts.encodes == 4
    assert folder.records().filter(pl.col("round") == 1).height == 4 * 2 * 3


@pytest.mark.long
def test_workers_and_none_give_the_same_bytes(small_run, plugin, tmp_path):
    none, two = (
        small_run(users=[plugin("RandomUser")], out=tmp_path / f"w{count}", workers=count)
        for count in (0, 2)
    )
    assert digest(none) == digest(two)
    assert digest(none, "masks") == digest(two, "masks")


@pytest.mark.long
def test_the_seed_changes_random_users_and_nothing_else_does(small_run, plugin, tmp_path):
    first, again, other = (
        small_run(users=[plugin("RandomUser")], out=tmp_path / str(index), seed=seed)
        for index, seed in enumerate((1, 1, 2))
    )
    assert digest(first) == digest(again)
    assert digest(first) != digest(other)


def test_results_do_not_depend_on_who_else_takes_part(small_run, plugin, tmp_path):
    user = plugin("RandomUser")
    alone = small_run(users=[user], out=tmp_path / "alone").records()
    together = small_run(users=["sample-first-pixel", user], out=tmp_path / "together").records()
    assert together.filter(pl.col("user") == user).equals(alone)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raises", "predict: RuntimeError: no memory left"),
        ("nan", "contains NaN or infinity; return a bool mask"),
        ("wrong_shape", r"expected a mask of shape (32, 32), got (31, 32)"),
        ("grey", "expected a bool mask, got other float64 values; threshold it first"),
    ],
)
def test_what_a_segmenter_does_wrong_is_a_record_and_the_others_go_on(
    small_run, plugin, how, message
):
    folder = small_run(plugin("At", how=how), users=["sample-first-pixel", plugin("RandomUser")])
    failed = failures(folder)
    assert failed["sample"].to_list() == ["square-1"] * 2
    assert failed["round"].to_list() == [2, 2]
    assert message in failed["failure"][0]
    assert folder.records().filter(pl.col("sample") != "square-1").height == 3 * 2 * 3
    assert folder.config.counts.failures == 2


def test_a_prediction_too_few_is_found_by_asking_one_by_one(small_run, plugin):
    folder = small_run(plugin("TooFew"), users=["sample-first-pixel", plugin("RandomUser")])
    assert failures(folder).is_empty()
    assert folder.records().height == 4 * 2 * 3


def test_a_segmenter_that_returns_nothing_is_told_what_was_expected(small_run, plugin):
    folder = small_run(plugin("Silent"))
    assert failures(folder)["failure"].unique().to_list() == [
        "predict: expected a list of 1 predictions, got None; return one for each dialogue"
    ]


@pytest.mark.long
def test_a_slow_predict_is_stopped(small_run, plugin):
    folder = small_run(plugin("At", how="sleeps"), time_limit_s=1.0)
    (message,) = failures(folder)["failure"]
    assert "took longer than the limit of 1 s; raise --time-limit to allow it" in message
    assert folder.records().filter(pl.col("sample") == "square-1")["round"].to_list() == [1, 2]


@pytest.mark.long
def test_workers_that_are_slow_hang_or_die_cost_their_samples(small_run, plugin, tmp_path):
    how = {
        "square-0": "sleeps",
        "square-1": "hangs_below_python",
        "square-3": "dies",
        "square-4": "dies_once",
    }
    segmenter = plugin("At", how=how, flag=str(tmp_path / "flag"))
    folder = small_run(segmenter, dataset="sample-squares(count=6)", workers=2, time_limit_s=1.0)
    failed = dict(failures(folder).select("sample", "failure").iter_rows())
    assert list(failed) == ["square-0", "square-1", "square-3"]
    assert "took longer than the limit of 1 s" in failed["square-0"]
    assert failed["square-1"] == (
        "a plug-in hung in native code (sample square-1, segmenter At predicting 1 dialogues): "
        "no answer within 1 s per call"
    )
    assert failed["square-3"].startswith(
        "the worker process died (exit code 7, sample square-3, segmenter At predicting"
    )
    assert folder.records().filter(pl.col("failure").is_null()).height == 3 * 3 + 1
    assert folder.is_complete


@pytest.mark.long
def test_failed_samples_can_be_tried_again(small_run, plugin):
    slow = plugin("At", how="sleeps")
    folder = small_run(slow, time_limit_s=0.8)
    assert folder.failed() == [1]
    again = small_run(slow, time_limit_s=1.0, retry_failed=True)
    assert "limit of 1 s" in failures(again)["failure"][0]


def test_an_encode_that_fails_fails_all_dialogues_of_its_sample(small_run, plugin):
    folder = small_run(plugin("EncodeFails"), users=["sample-first-pixel", plugin("RandomUser")])
    failed = failures(folder)
    (why,) = set(failed["failure"])
    assert failed.height == 2
    assert why.startswith("encode: MemoryError: image too large (misbehaving.py, line ")
    assert folder.config.counts.encodes == 3


def test_a_sample_that_cannot_be_read_is_one_record(small_run, plugin):
    folder = small_run(dataset=plugin("OneBadSample"))
    (row,) = failures(folder).to_dicts()
    assert (row["sample"], row["target"], row["round"]) == ("b", "", 0)
    assert row["failure"] == "loading: b.png: expected an image, the file is cut off"
    assert folder.records().filter(pl.col("failure").is_null()).height == 2 * 3


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ("UserOutside", "lies outside a sample of shape (32, 32)"),
        ("UserRaises", "ZeroDivisionError: division by zero"),
    ],
)
def test_what_a_user_does_wrong_is_a_record(small_run, plugin, user, message):
    folder = small_run(users=["sample-first-pixel", plugin(user)])
    assert message in failures(folder)["failure"][0]
    assert folder.records().filter(pl.col("failure").is_null()).height == 4 * 3


def test_logits_come_back_and_nothing_else_is_kept(small_run, plugin):
    records = small_run(
        plugin("CountsClicks"), users=["sample-first-pixel", plugin("RandomUser")]
    ).records()
    assert records["prediction_area"].to_list() == [1.0, 2.0, 3.0] * 8


@pytest.mark.long
def test_a_folder_of_another_run_is_refused_and_the_difference_named(small_run, plugin):
    small_run()
    with pytest.raises(
        RunConflict, match=r"with seed = 0, but the requested run has 5; choose another --out"
    ):
        small_run(seed=5)
    with pytest.raises(
        RunConflict, match=r"segmenter\.options\.pause_s = 0\.0, but the requested run has 0\.001"
    ):
        small_run(plugin("Good", pause_s=0.001))
    with pytest.raises(
        RunConflict, match=r"dataset\.options\.count = 4, but the requested run has 5"
    ):
        small_run(dataset="sample-squares(count=5)")


def test_a_folder_with_other_files_is_refused(small_run, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").touch()
    with pytest.raises(RunConflict, match=r"holds other files and no run\.json"):
        small_run(out=tmp_path / "photos")


def test_a_run_of_which_the_first_samples_fail_alike_is_ended_and_goes_on_from_the_start(
    small_run, plugin, tmp_path
):
    notes = []
    with pytest.raises(
        WorkError,
        match=r"the first 3 samples all failed for the same reason: 3 × predict: RuntimeError: ",
    ):
        small_run(
            plugin("Refuses"),
            keep_going=False,
            on_progress=lambda progress: notes.append(progress.notes[:]),
        )
    assert segarena.RunFolder.open(tmp_path / "run").pending() == [0, 1, 2, 3]
    where = "square-0 / object, user sample-first-pixel"
    (note,) = notes[-1]
    assert note.startswith(f"failed: {where}: predict: RuntimeError: square-0 needs 24.5 GB")
    assert small_run(plugin("Refuses")).config.counts.failures == 4


@pytest.mark.long
@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_in_which_one_of_the_first_samples_is_answered_goes_on(small_run, plugin, workers):
    # The pause lets the other three be done first when there are workers.
    refuses = plugin("Refuses", unless=("square-1",), pause_s=0.2 if workers else 0.0)
    assert small_run(refuses, keep_going=False, workers=workers).config.counts.failures == 3


def test_a_run_in_use_is_refused(small_run):
    folder = small_run()
    with folder.lock(), pytest.raises(RunConflict, match="in use by another process"):
        small_run()


def test_nothing_starts_when_something_is_missing_or_does_not_fit(small_run, plugin):
    with pytest.raises(UnknownPlugin, match="did you mean 'sample-disc'"):
        small_run("sample-dics")
    with pytest.raises(
        PluginInvalid, match="BoxesOnly takes boxes; user sample-first-pixel of small gives clicks"
    ):
        small_run(plugin("BoxesOnly"))
    with pytest.raises(PluginInvalid, match=r"cannot be built: OSError: weights\.pth is not there"):
        small_run(plugin("Broken"))
    with pytest.raises(InvalidInput, match="rounds must be at least 1, got 0"):
        small_run(rounds=0)
    with pytest.raises(InvalidInput, match="user names must differ"):
        small_run(users=["sample-first-pixel"] * 2)


def test_progress_tells_how_far_a_run_is(small_run):
    seen = []
    small_run(
        on_progress=lambda state: seen.append((state.done, state.units, state.counts["rounds"]))
    )
    assert seen == [(0, 4, 0), (1, 4, 3), (2, 4, 6), (3, 4, 9), (4, 4, 12)]
    seen.clear()
    small_run(on_progress=lambda state: seen.append((state.done, state.resumed)))
    assert seen == [(4, 4)]


def test_a_run_stopped_after_its_last_sample_is_finished_by_the_next(small_run):
    folder = small_run()
    counts = folder.config.counts
    folder.write_config(replace(folder.config, counts=None))
    assert small_run(workers=1).config.counts == counts


def test_objects_work_as_well_as_names(rules, tmp_path):
    class Everything:
        def encode(self, sample):
            return sample.shape

        def predict(self, encoded, dialogues):
            return [np.ones(encoded, dtype=bool) for _ in dialogues]

    folder = segarena.evaluate(rules, segmenter=Everything(), out=tmp_path / "run")
    assert folder.config.segmenter.name == "Everything"
    assert folder.records()["intersection"].to_list() == folder.records()["target_area"].to_list()


def test_a_named_user_is_called_so_in_records_and_in_run_json(small_run):
    folder = small_run(
        users=["sample-first-pixel", "soft=uniform(low=0.5)", "hard=uniform(high=0.5)"]
    )
    assert set(folder.records()["user"]) == {"sample-first-pixel", "soft", "hard"}
    assert [user.written for user in folder.config.users] == ["sample-first-pixel", "soft", "hard"]
    assert [user.name for user in folder.config.users] == [
        "sample-first-pixel",
        "uniform",
        "uniform",
    ]
    assert folder.config.users[1].options["low"] == 0.5


def test_two_users_of_one_name_are_refused(small_run):
    with pytest.raises(InvalidInput, match="user names must differ, got a, a"):
        small_run(users=["a=centre", "a=uniform"])


def test_workers_that_cannot_start_end_the_run(small_run):
    with pytest.raises(UnitFailed, match="RuntimeError: no weights here"):
        small_run(Unpicklable(), workers=1)


class Unpicklable:
    """Can be pickled, but not unpickled by a worker."""

    def __reduce__(self):
        return (exec, ("raise RuntimeError('no weights here')",))

    def encode(self, sample):
        return sample

    def predict(self, encoded, dialogues):
        return []


def test_a_sample_that_cannot_be_loaded_is_counted_as_that_everywhere(small_run, plugin):
    states = []
    folder = small_run(dataset=plugin("OneBadSample"), on_progress=states.append)
    counts = folder.config.counts
    assert (counts.failures, counts.unloaded) == (0, 1)
    assert states[-1].failures == 0
    (note,) = states[-1].notes
    assert note.startswith("not loaded: b: b.png: expected an image")
    extract = extract_of(folder.path)
    assert (sum(extract.failures.values()), extract.unloaded) == (0, 1)
    assert folder.summary()["failures"] == 0
