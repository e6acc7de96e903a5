"""Runs that are rejected: roles that hang or never end, clashing ids and columns, exits that look like success."""

import errno
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segarena.engine import lockstep_dialogues
from segarena.engine import plan as planning
from segarena.engine.evaluate import evaluate
from segarena.engine.plan import make_plan
from segarena.errors import InvalidInput, PluginInvalid, RunConflict, StoreError

pytestmark = pytest.mark.usefixtures("quick_workers")


def failures(folder):
    return set(folder.records()["failure"].drop_nulls())


@pytest.fixture
def one_limit(monkeypatch):
    """Give all calls the same time limit, so that none of the others is ended on a busy machine."""
    monkeypatch.setattr(lockstep_dialogues, "SLOW_CALLS", 1)


@pytest.mark.long
def test_a_user_who_hangs_is_ended_and_the_other_users_go_on(one_limit, small_run, plugin):
    folder = small_run(
        users=[plugin("HangingUser"), "sample-first-pixel"],
        dataset="sample-squares(count=1)",
        time_limit_s=1.0,
    )
    (why,) = failures(folder)
    assert "HangingUser took longer than the limit of 1 s; raise --time-limit" in why
    assert folder.records()["failure"].null_count() == 3


@pytest.mark.long
def test_a_metric_that_hangs_is_ended_and_named(one_limit, small_run, plugin):
    folder = small_run(
        metrics=[plugin("HangingMetric")], dataset="sample-squares(count=1)", time_limit_s=1.0
    )
    (why,) = failures(folder)
    assert "HangingMetric took longer than the limit of 1 s" in why


@pytest.mark.long
def test_loading_that_hangs_is_ended_and_the_other_samples_go_on(
    one_limit, rules, plugin, tmp_path
):
    folder = evaluate(
        rules,
        segmenter=plugin("Good"),
        dataset=plugin("HangingDataset"),
        out=tmp_path / "r",
        time_limit_s=1.0,
    )
    (why,) = failures(folder)
    assert why.startswith("loading: loading b took longer than the limit of 1 s")
    assert folder.records().filter(folder.records()["failure"].is_null())[
        "sample"
    ].unique().sort().to_list() == [
        "a",
        "c",
    ]


@pytest.mark.parametrize("role", ["segmenter", "dataset", "users", "metrics"])
def test_a_constructor_that_hangs_is_ended_with_its_line(
    monkeypatch, rules, plugin, tmp_path, role
):
    monkeypatch.setattr(planning, "SLOW_CALLS", 1)
    written = plugin("HangingConstructor")
    plugins = {"segmenter": plugin("Good"), role: written}
    if role in ("users", "metrics"):
        plugins[role] = [written]
    with pytest.raises(PluginInvalid) as refused:
        evaluate(rules, out=tmp_path / "r", time_limit_s=0.3, **plugins)
    assert f"{role.removesuffix('s')} {written} took longer than the limit of 0.3 s" in str(
        refused.value
    )
    assert "misbehaving.py, line" in str(refused.value)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("role", ["segmenter", "users"])
def test_a_file_whose_import_hangs_is_ended_with_its_line(monkeypatch, rules, tmp_path, role):
    monkeypatch.setattr(planning, "SLOW_CALLS", 1)
    file = tmp_path / "endless.py"
    file.write_text("import time\ntime.sleep(1000)\n")
    plugins = {"segmenter": "graph", "dataset": "demo", role: f"{file}:Any"}
    if role == "users":
        plugins[role] = [f"{file}:Any"]
    with pytest.raises(
        PluginInvalid, match=r"longer than the limit of 0\.3 s.*endless\.py, line 2"
    ):
        evaluate(rules, out=tmp_path / "r", time_limit_s=0.3, **plugins)


@pytest.mark.long
@pytest.mark.parametrize("workers", [0, 1])
def test_the_targets_of_a_finished_run_are_counted_without_a_load_that_hangs(
    rules, plugin, tmp_path, workers
):
    started = time.monotonic()
    folder = evaluate(
        rules,
        segmenter=plugin("Good"),
        dataset=plugin("HangingDataset"),
        users=["centre"],
        out=tmp_path / "r",
        time_limit_s=0.3,
        workers=workers,
    )
    assert time.monotonic() - started < 100
    assert folder.config.counts.unloaded == 1
    assert folder.config.counts.targets == 2


def test_a_user_without_end_fails_after_so_many_prompts(small_run, plugin):
    (why,) = failures(small_run(users=[plugin("EndlessUser")]))
    assert "gave more than 10000 prompts in one round; most_prompts allows more" in why


@pytest.mark.parametrize("limit", [float("inf"), float("nan"), 1e9])
def test_a_time_limit_needs_an_end(rules, limit):
    with pytest.raises(InvalidInput, match="above 0 and at most 1000000 s"):
        make_plan(rules, segmenter="graph", time_limit_s=limit)


def test_two_samples_of_one_id_are_refused(rules, plugin, tmp_path):
    with pytest.raises(InvalidInput, match="two samples with the id 'a'"):
        evaluate(rules, segmenter=plugin("Good"), dataset=plugin("SameIds"), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("NumberedSamples", r"expected text as sample_ids\[0\], got int"),
        ("TextForIds", "expected a list of text as sample_ids, got str"),
        ("MethodForIds", "as sample_ids, got method; write @property above the method"),
        ("NumberForFingerprint", "expected text as fingerprint, got int"),
        ("NoName", "expected text as name, got NoneType"),
    ],
)
def test_a_dataset_whose_names_are_not_text_is_refused(rules, plugin, tmp_path, dataset, message):
    with pytest.raises(PluginInvalid, match=f"dataset {dataset}: .*{message}"):
        evaluate(rules, segmenter=plugin("Good"), dataset=plugin(dataset), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_benchmark_without_users_is_refused(rules, tmp_path):
    with pytest.raises(InvalidInput, match="expected at least one user, got none"):
        evaluate(replace(rules, users=()), segmenter="everything", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_another_sample_than_the_requested_one_is_not_evaluated(rules, plugin, tmp_path):
    folder = evaluate(
        rules, segmenter=plugin("Good"), dataset=plugin("AnotherSample"), out=tmp_path / "run"
    )
    (why,) = failures(folder)
    assert "expected the sample 'a' from the dataset, got 'other'" in why


def test_a_numpy_number_as_an_attribute_is_recorded(rules, plugin, tmp_path):
    folder = evaluate(
        rules, segmenter=plugin("Good"), dataset=plugin("NumpyAttributes"), out=tmp_path / "run"
    )
    assert set(folder.records()["attributes"]) == {'{"area": 1.5, "count": 3}'}


def test_a_metric_whose_column_is_a_key_is_refused(small_run, plugin):
    with pytest.raises(
        InvalidInput, match="the column 'effort', which already exists in the records"
    ):
        small_run(metrics=[plugin("NamedLikeAKey")])


def test_a_run_that_was_ended_before_its_first_file_was_whole_goes_on(small_run, tmp_path):
    run = tmp_path / "run"
    (run / "records").mkdir(parents=True)
    (run / "masks").mkdir()
    (run / ".run.json.0123abcd.part").write_text('{"format": 3, "vers')
    folder = small_run(out=run)
    assert folder.is_complete
    assert not list(run.glob(".*.part"))


def test_other_files_are_still_not_written_between(small_run, tmp_path):
    (tmp_path / "run/records").mkdir(parents=True)
    (tmp_path / "run/records/mine.parquet").touch()
    with pytest.raises(RunConflict, match="holds other files"):
        small_run(out=tmp_path / "run")


def test_records_removed_under_a_run_are_an_error_that_names_the_folder_or_are_done_again(
    small_run, tmp_path
):
    folder = small_run()
    before = folder.records()
    shutil.rmtree(folder.path / "records")
    assert small_run().records().equals(before)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_plugin_that_changes_the_working_directory_does_not_move_the_run(
    small_run, plugin, tmp_path, monkeypatch, workers
):
    monkeypatch.chdir(tmp_path)
    folder = small_run(plugin("ChangesFolder"), out="here", workers=workers)
    assert folder.is_complete
    assert (tmp_path / "here/run.json").is_file()
    assert folder.records().height == 4 * 3


@pytest.mark.parametrize("workers", [0, 1])
def test_nor_does_it_move_the_data(small_run, plugin, tmp_path, monkeypatch, workers):
    for name in ("images", "masks"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        Image.fromarray(np.full((20, 30), 255, np.uint8)).save(tmp_path / "photos" / name / "a.png")
    monkeypatch.chdir(tmp_path)
    folder = small_run(
        plugin("ChangesFolder"), dataset="folder('photos')", out="here", workers=workers
    )
    assert failures(folder) == set()
    assert folder.config.dataset.options["path"] == "photos"


def test_a_plugin_that_exits_is_an_error_and_not_a_success(small_run, plugin):
    with pytest.raises(PluginInvalid, match="SystemExit"):
        small_run(plugin("Exits"))
    assert all("SystemExit" in why for why in failures(small_run(plugin("ExitsLater"))))


def test_the_command_does_not_exit_with_0_when_a_plugin_exits(refused, plugin, tmp_path):
    assert "SystemExit" in refused(
        "run", "-s", plugin("Exits"), "-d", "sample-squares", "--out", str(tmp_path / "r")
    )


def test_a_run_on_a_read_only_disk_is_one_line(small_run, monkeypatch):
    folder = small_run()
    as_before = Path.open

    def open_(path, mode="r", **options):
        if set(mode) & set("wax+"):
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return as_before(path, mode, **options)

    monkeypatch.setattr(Path, "open", open_)
    with pytest.raises(
        StoreError,
        match=r"pieces\.jsonl cannot be written: Read-only file system\. Free disk space",
    ):
        small_run()
    assert folder.records().height == 4 * 3


@pytest.mark.parametrize(
    ("name", "value"),
    [("rounds", "3"), ("rounds", [3]), ("repeats", "x"), ("limit", 1.5), ("time_limit_s", None), ("cache_gb", "1"),
     ("metrics", 5), ("users", True), ("keep_rounds", 5)],
)  # fmt: skip
def test_values_of_another_type_are_refused_by_name(name, value):
    with pytest.raises(InvalidInput, match=f"^{name}: expected .*; got "):
        make_plan("clicks", segmenter="grabcut", **{name: value})
