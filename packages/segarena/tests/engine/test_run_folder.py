import errno
import os
from pathlib import Path

import pytest
from separate_files import write_separately

from segarena import RunFolder
from segarena.engine import run_continuation_changes
from segarena.engine.run_integrity import check_run
from segarena.errors import RunMissing, StoreError


@pytest.fixture
def interrupted_run(small_run, tmp_path):
    """Run until the disk is full, in the middle of the third sample."""
    # Another run first, because the first one in a process also writes its list of plug-ins.
    small_run(out=tmp_path / "other")
    written = []

    def full(descriptor):
        is_sample = Path(f"/proc/self/fd/{descriptor}").resolve().parent.name == "records"
        if is_sample and len(written) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.extend([descriptor] * is_sample)

    def run():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", full)
            small_run()

    return run


@pytest.mark.long
def test_a_full_disk_is_one_clear_line_and_loses_nothing(small_run, tmp_path, interrupted_run):
    with pytest.raises(
        StoreError, match=r"the disk is full\. Free disk space .* finished work is kept"
    ):
        interrupted_run()
    folder = RunFolder.open(tmp_path / "run")
    kept = folder.records()["sample"].unique(maintain_order=True).to_list()
    assert kept == ["square-0", "square-1"]
    assert small_run().is_complete


def test_a_sample_whose_masks_were_deleted_is_run_again(small_run, tmp_path, interrupted_run):
    with pytest.raises(StoreError):
        interrupted_run()
    write_separately(RunFolder.open(tmp_path / "run"), 0)
    file = tmp_path / "run" / "masks" / "000000.parquet"
    file.unlink()
    assert [finding.message for finding in check_run(tmp_path / "run") if finding.is_error]
    folder = small_run()
    assert folder.is_complete
    assert folder.masks()["sample"].unique(maintain_order=True).to_list() == list(folder.samples)


@pytest.mark.parametrize("table", ["masks", "timings"])
def test_a_file_that_disappears_before_compaction_is_one_clear_line(make_run, make_ramps, table):
    folder = RunFolder.open(make_run(make_ramps()))
    write_separately(folder, 0)
    with folder.lock():
        file = next((folder.path / table).glob("*.parquet"))
        file.unlink()
        with pytest.raises(StoreError, match=rf"{file.name} is missing; repeat the command"):
            folder.gather()
    assert len(folder.pending()) == 0
    with folder.lock():
        assert len(folder.pending()) == 1


def test_a_folder_that_cannot_be_written_is_one_clear_line(small_run, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        small_run(out=tmp_path / "file" / "run")


def test_opening_what_is_not_a_run_says_so(tmp_path):
    with pytest.raises(RunMissing, match=r"expected a run folder with a run\.json"):
        RunFolder.open(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(StoreError, match="damaged or not a run"):
        RunFolder.open(tmp_path)


def test_only_the_process_that_holds_a_run_gathers_and_discards(small_run):
    run = small_run()
    for forbidden in (run.gather, lambda: run.gather(0), lambda: run.discard([0])):
        with pytest.raises(StoreError, match="only the process that has locked the run"):
            forbidden()


def test_a_damaged_file_is_named(small_run):
    folder = small_run()
    file = next(Path(folder.path / "records").glob("*.parquet"))
    file.write_bytes(b"PAR1 broken")
    with pytest.raises(StoreError, match=rf"{file.name} is damaged"):
        folder.records()


def test_a_run_says_everything_needed_to_repeat_it(small_run):
    config = small_run(seed=3).config
    assert config.seed == 3
    assert config.dataset.options == {"count": 4, "side": 32}
    assert config.segmenter.sha256
    assert config.users[0].name == "sample-first-pixel"
    assert "numpy" in config.environment


def test_an_option_that_came_later_is_no_other_run_until_it_is_set():
    old = {"users": [{"name": "a", "options": {"low": 0}}], "rounds": 3}
    new = {"users": [{"name": "a", "options": {"low": 0, "later": None}}], "rounds": 3}
    assert run_continuation_changes.without_later_options(old, new) == old
    new["users"][0]["options"] = {"low": None, "later": 1}
    assert run_continuation_changes.without_later_options(old, new) == new
    assert run_continuation_changes.without_later_options(old, {"users": [], "rounds": None}) == {
        "users": [],
        "rounds": None,
    }
