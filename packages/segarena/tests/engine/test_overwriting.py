"""`--overwrite` replaces the run in a folder and does not touch other files."""

import json
from pathlib import Path

import pytest

from segarena.engine.run_integrity import check_run
from segarena.errors import RunConflict, SegarenaError, StoreError
from segarena.files.hashes import sha256_of_file
from segarena.reports import write_report


def test_overwriting_starts_anew_and_deletes_nothing_else(small_run, plugin):
    before = small_run("sample-disc", repeats=2, limit=3)
    (before.path / "notes.txt").write_text("mine")
    (before.path / "records" / "notes.txt").write_text("mine")
    (before.path / "seats" / "000000-0").mkdir(parents=True)
    run = small_run(plugin("Good"), out=before.path, overwrite=True)
    assert not (run.path / "seats").exists()
    fresh = small_run(plugin("Good"), out=before.path.parent / "fresh")
    assert run.records().equals(fresh.records())
    assert run.config.repeats == 1
    assert sorted(file.relative_to(run.path) for file in run.path.rglob("*.txt")) == [
        Path("notes.txt"),
        Path("records/notes.txt"),
    ]
    assert check_run(run.path)[0].is_error is False


def test_overwriting_makes_of_a_rotten_run_a_sound_one(small_run):
    run = small_run("sample-disc")
    (run.path / "pieces.jsonl").write_text("rot\n")
    again = small_run("sample-disc", overwrite=True)
    assert again.is_complete
    assert [finding.is_error for finding in check_run(run.path)] == [False]


def test_what_is_no_run_folder_is_never_overwritten(small_run, tmp_path):
    for name, text in (("run.json", '{"mine": 1}'), ("run.json", "{"), ("thesis.tex", "")):
        folder = tmp_path / f"{name}-{len(text)}"
        folder.mkdir()
        (folder / name).write_text(text)
        with pytest.raises(
            (StoreError, RunConflict), match=r"is damaged or not a run|holds other files"
        ):
            small_run("sample-disc", out=folder, overwrite=True)
        assert [file.name for file in folder.iterdir()] == [name]
        assert (folder / name).read_text() == text


def test_a_run_in_progress_is_not_overwritten(small_run):
    run = small_run("sample-disc")
    with run.lock(), pytest.raises(RunConflict, match="in use by another process"):
        small_run("sample-disc", overwrite=True)
    assert run.is_complete


def test_a_run_is_not_overwritten_by_what_cannot_run(small_run):
    run = small_run("sample-disc")
    with pytest.raises(SegarenaError):
        small_run("sample-disc", dataset="folder(path='nowhere')", overwrite=True)
    assert run.is_complete


def test_the_report_of_the_run_before_goes_with_it(small_run):
    before = small_run("sample-disc")
    write_report([before.path], before.path / "report")
    assert (before.path / "report" / "report.html").is_file()
    run = small_run("everything", out=before.path, overwrite=True)
    assert not (run.path / "report").exists()
    assert run.notes == ()


def test_what_somebody_changed_in_a_report_stays_and_is_told(small_run):
    before = small_run("sample-disc")
    files = write_report([before.path], before.path / "report")
    files.html.write_text("with notes of mine")
    (before.path / "report" / "mine.csv").write_text("mine")
    run = small_run("everything", out=before.path, overwrite=True)
    left = {file.name for file in (run.path / "report").iterdir()}
    assert left == {"report.html", "mine.csv", "made.json"}
    assert run.notes == (f"{run.path / 'report'} is still the report of the previous run",)


def test_a_list_from_elsewhere_deletes_nothing_outside_the_report(small_run):
    before = small_run("sample-disc")
    outside = before.path / "thesis.txt"
    outside.write_text("mine")
    (before.path / "report").mkdir()
    digest = sha256_of_file(outside)
    (before.path / "report" / "link").symlink_to(outside)
    made = {"../thesis.txt": digest, str(outside): digest, "link": digest}
    (before.path / "report" / "made.json").write_text(json.dumps(made))
    small_run("everything", out=before.path, overwrite=True)
    assert outside.read_text() == "mine"
    assert (before.path / "report" / "link").is_symlink()
