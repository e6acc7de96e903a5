import numpy as np
import pytest
from typer.testing import CliRunner

from segarena.cli.main import app


def run(*words):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["people", *map(str, words)])


def written(folder, is_whole=True):
    place = folder / "WBC" / "CV" / "004"
    place.mkdir(parents=True)
    np.save(place / "seg.npy", np.eye(8))
    np.save(place / "scribble_0.npy", np.ones((2, 8, 8)))
    if not is_whole:
        (folder / "x").mkdir()
        np.save(folder / "x" / "scribble_0.npy", np.ones((2, 8, 8)))
    return folder


def test_formats_are_listed_with_their_terms():
    told = run("formats")
    assert told.exit_code == 0
    assert "acdc-scribbles" in told.output
    assert "Apache-2.0" in run("formats", "medscribble").output
    assert run("formats", "other").exit_code == 2


@pytest.mark.long
def test_a_folder_is_made_and_checked(tmp_path):
    told = run("import", "medscribble", written(tmp_path / "a"), "--out", tmp_path / "out")
    assert told.exit_code == 0, told.output
    assert "2 prompts of 1 person" in told.output
    assert "terms: Apache-2.0" in told.output
    assert run("check-prompts", tmp_path / "out" / "prompts.parquet").exit_code == 0
    checked = run("check-prompts", tmp_path / "out")
    assert (checked.exit_code, checked.output) == (0, "2 prompts of 1 person\n")
    next((tmp_path / "out" / "rasters").iterdir()).unlink()
    checked = run("check-prompts", tmp_path / "out")
    assert checked.exit_code == 1
    assert "error: 1 masks that cannot be used" in checked.output


def test_what_was_left_out_is_named_and_makes_the_exit_code(tmp_path):
    told = run(
        "import", "medscribble", written(tmp_path / "a", is_whole=False), "--out", tmp_path / "out"
    )
    assert told.exit_code == 1
    assert "skipped: 1 of 2" in told.output
    assert "seg.npy" in told.output


def test_what_cannot_be_read_is_one_line(tmp_path):
    for words in (
        ("nothing", tmp_path),
        ("medscribble", tmp_path),
        ("medscribble", tmp_path / "none"),
    ):
        told = run("import", *words, "--out", tmp_path / "out")
        assert told.exit_code == 2
        assert told.output.startswith("error: ")
        assert told.output.count("\n") == 1
